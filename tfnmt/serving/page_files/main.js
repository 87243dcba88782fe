// The page: the texts, and one model or two side by side with what they say of them.
import { element } from "./elements.js";
import { Pane } from "./pane.js";
import { LOADING, modelNames, POLLING } from "./server.js";

const TYPING = 250; // milliseconds without a key before the server is asked

const $ = id => document.getElementById(id);
const boxes = [$("first"), $("second")];
const sides = ["model", "beside"].map(id => ({ select: $(id), pane: new Pane() }));

function texts() {
  return boxes.map(box => box.value);
}

function shown() {
  return sides.filter(({ select }) => select.value);
}

// Take the model that is selected on a side, or none.
async function choose({ select, pane }) {
  const chosen = select.value && pane.choose(select.value);
  $("panes").replaceChildren(...shown().map(side => side.pane.element));
  await chosen;
  $("second-box").hidden = !shown().some(side => side.pane.model?.readsPairs);
  if (select.value) await pane.show(texts());
}

async function start() {
  const { names, problem } = await modelNames().then(names => ({ names }), problem => ({ names: [], problem }));
  $("waiting").hidden = names.length > 0;
  if (problem && problem.status !== LOADING) $("waiting").textContent = problem.message;
  else $("waiting").textContent = problem ? "The models are being loaded." : "This server serves no model.";
  if (!names.length) return setTimeout(start, POLLING);
  for (const { select } of sides) select.append(...names.map(name => element("option", {}, name)));
  await choose(sides[0]);
  document.body.dataset.ready = "yes";
}

for (const side of sides) side.select.addEventListener("change", () => choose(side));
for (const box of boxes) box.addEventListener("input", () => shown().forEach(({ pane }) => pane.show(texts(), TYPING)));
start();
