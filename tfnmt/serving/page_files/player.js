// Plays how a tree was parsed: the stack and the buffer, decision by decision, beside the tree as it grows.
import { SHIFT, statesOf, writeBrackets } from "./brackets.js";
import { element, percent } from "./elements.js";
import { drawTree } from "./tree.js";

const MILLISECONDS = 800;

// A section for { words, transitions }, at its last step. reduceProbabilities: of each step, or null for a tree that
// was given.
export function makePlayer(title, parse, reduceProbabilities) {
  const states = statesOf(parse), steps = parse.transitions.length;
  const decisions = parse.transitions.map((transition, i) => ({
    transition,
    probability: probabilityOf(transition, states[i].choices, reduceProbabilities?.[i]),
    isForced: states[i].choices.length === 1,
  }));
  const { drawing, show: showTree } = drawTree(states[steps].stack[0]);
  const status = element("p", { class: "decision", role: "status" });
  const stack = element("ol", { class: "nodes stack" }), buffer = element("ol", { class: "nodes buffer" });
  const strip = element("ol", { class: "decisions" }, ...decisions.map((decision, i) => decisionItem(decision, i, go)));
  const slider = element("input", { type: "range", min: 0, max: steps, "aria-label": "Step", oninput: slid });
  const play = element("button", { type: "button", class: "play", onclick: toggle });
  const [first, back, forward, last] = [
    ["«", "To the start", () => go(0)],
    ["‹", "One step back", () => go(step - 1)],
    ["›", "One step forward", () => go(step + 1)],
    ["»", "To the end", () => go(steps)],
  ].map(([sign, name, onclick]) => element("button", { type: "button", "aria-label": name, title: name, onclick }, sign));
  let step = steps, timer = null;

  function go(to) {
    stop();
    show(to);
  }

  function slid() {
    go(Number(slider.value));
  }

  function show(to) {
    step = Math.max(0, Math.min(steps, to));
    const text = describe(step, steps, decisions[step - 1]);
    status.textContent = text;
    slider.value = step;
    slider.setAttribute("aria-valuetext", text);
    stack.replaceChildren(...states[step].stack.map(node => nodeItem(writeBrackets(node), node.index === step - 1)));
    buffer.replaceChildren(...states[step].buffer.map(word => nodeItem(word, false)));
    [...strip.children].forEach((item, i) => {
      item.firstChild.classList.toggle("done", i < step);
      if (i === step - 1) item.firstChild.setAttribute("aria-current", "step");
      else item.firstChild.removeAttribute("aria-current");
    });
    first.disabled = back.disabled = step === 0;
    forward.disabled = last.disabled = step === steps;
    const made = states[step].stack.map(writeBrackets).join(", ");
    drawing.setAttribute("aria-label", made ? `Tree: ${made}` : "No tree yet");
    showTree(step);
  }

  function toggle() {
    if (timer) return stop();
    if (step === steps) show(0);
    timer = setInterval(() => {
      if (!section.isConnected) return stop();
      show(step + 1);
      if (step === steps) stop();
    }, MILLISECONDS);
    play.textContent = "Pause";
  }

  function stop() {
    clearInterval(timer);
    timer = null;
    play.textContent = "Play";
  }

  const section = element("section", { class: "player", "aria-label": title },
    element("h2", {}, title),
    element("div", { class: "controls", role: "group", "aria-label": "Steps" }, first, back, play, forward, last, slider),
    status,
    element("div", { class: "drawing" }, drawing),
    element("div", { class: "lists" },
      element("div", {}, element("h3", {}, "Stack"), labelled(stack, "Stack, the top last")),
      element("div", {}, element("h3", {}, "Buffer"), labelled(buffer, "Buffer, the next word first"))),
    labelled(strip, "Decisions"));
  go(steps);
  return section;
}

// What a decision's probability is; 1 where there was no choice; null where the tree was given.
function probabilityOf(transition, choices, reduceProbability) {
  if (reduceProbability === undefined) return null;
  if (choices.length === 1) return 1;
  return transition === SHIFT ? 1 - reduceProbability : reduceProbability;
}

function describe(step, steps, decision) {
  if (step === 0) return `Before the first of ${steps} steps`;
  const { transition, probability, isForced } = decision;
  const how = probability === null ? "" : isForced ? ", the only choice" : `, probability ${percent(probability)}`;
  return `Step ${step} of ${steps}: ${transition}${how}`;
}

function decisionItem(decision, i, go) {
  const { transition, probability, isForced } = decision;
  const shown = probability === null ? null : isForced ? "–" : percent(probability);
  const title = describe(i + 1, "", decision).replace(" of ", "");
  const button = element("button", { type: "button", title, "aria-label": title, onclick: () => go(i + 1) },
    transition, shown && element("span", {}, shown));
  if (probability !== null) button.style.setProperty("--probability", probability);
  return element("li", {}, button);
}

function nodeItem(text, isNew) {
  return element("li", isNew ? { class: "new" } : {}, text);
}

function labelled(list, name) {
  list.setAttribute("aria-label", name);
  return list;
}
