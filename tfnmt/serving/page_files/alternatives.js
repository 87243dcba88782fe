// The menu of other words for one word of a translation.
import { element, percent } from "./elements.js";
import { rove } from "./roving.js";
import { wordAfter } from "./words.js";

// What may follow the prefix: [{ word, upToIt, rest, probability }], the most probable first. Several tokens may begin
// the same word.
export function alternativesOf({ translations, probabilities }, prefix) {
  const found = new Map();
  translations.forEach((translation, i) => {
    const next = wordAfter(translation, prefix);
    if (!next) return;
    const same = found.get(next.word);
    if (same) same.probability += probabilities[i];
    else found.set(next.word, { ...next, rest: translation.slice(next.upToIt.length), probability: probabilities[i] });
  });
  return [...found.values()].sort((one, other) => other.probability - one.probability);
}

// Opens the menu under a button; choose(alternative) is called for the one that is chosen.
export function openMenu(button, alternatives, choose) {
  const menu = element("div", { class: "menu", role: "menu", "aria-label": `In place of ${button.textContent}` });
  const items = alternatives.map(each => element("button", {
    type: "button", role: "menuitem", onclick: () => close(() => choose(each)),
  }, element("span", { class: "score" }, percent(each.probability)), element("strong", {}, each.word),
    element("span", { class: "rest" }, each.rest)));
  menu.append(...items);
  rove(menu, items);
  menu.addEventListener("keydown", event => {
    if (event.key === "Escape" || event.key === "Tab") close();
    if (event.key === "Escape") button.focus();
  });
  const outside = event => {
    if (!menu.contains(event.target)) close();
  };

  function close(then = () => {}) {
    document.removeEventListener("pointerdown", outside, true);
    menu.remove();
    button.setAttribute("aria-expanded", "false");
    then();
  }

  document.addEventListener("pointerdown", outside, true);
  button.setAttribute("aria-expanded", "true");
  button.after(menu);
  const beyond = menu.getBoundingClientRect().right - (document.documentElement.clientWidth - 8);
  if (beyond > 0) menu.style.marginLeft = `${-beyond}px`;
  items[0]?.focus();
}
