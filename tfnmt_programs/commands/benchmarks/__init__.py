"""What `tfnmt benchmark` measures, a file a work: its options, and the function that returns its figures."""
