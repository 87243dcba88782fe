// Arrow keys move among buttons, of which Tab reaches one alone.
export function rove(container, buttons) {
  const set = chosen => buttons.forEach(button => button.tabIndex = button === chosen ? 0 : -1);
  const steps = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
  set(buttons[0]);
  for (const button of buttons) button.addEventListener("focus", () => set(button));
  container.onkeydown = event => {
    if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;  // the browser's own
    const at = buttons.indexOf(document.activeElement);
    const to = { Home: 0, End: buttons.length - 1 }[event.key] ?? at + steps[event.key];
    if (at < 0 || !buttons[to]) return;
    event.preventDefault();
    buttons[to].focus();
  };
}
