// Makes elements of the page.

// element("td", { class: "score", onclick: f }, "text", child): attributes, listeners and children.
export function element(name, attributes = {}, ...children) {
  return filled(document.createElement(name), attributes, children);
}

// The same for the parts of a drawing.
export function svg(name, attributes = {}, ...children) {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
}

function filled(made, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value !== false && value !== null) made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.filter(child => child !== null));
  return made;
}

// 0.937 → "94%"; what is not quite certain is never written as if it were.
export function percent(probability) {
  if (probability > 0 && probability < 0.005) return "<1%";
  if (probability >= 0.995 && probability < 1) return ">99%";
  return `${Math.round(100 * probability)}%`;
}
