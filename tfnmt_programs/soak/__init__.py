"""Programs that disturb this project for as long as one likes, and count what was lost."""
