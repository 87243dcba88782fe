// The page: the models, the texts, and a pane that shows what a model says of them.
import { element } from "./elements.js";
import { Pane } from "./pane.js";
import { modelNames } from "./server.js";

const TYPING = 250; // milliseconds without a key before the server is asked
const POLLING = 1000; // milliseconds between two looks whether a model is loaded

const $ = id => document.getElementById(id);
const boxes = [$("first"), $("second")];
const pane = new Pane();

function texts() {
  return boxes.map(box => box.value);
}

async function choose() {
  await pane.choose($("model").value);
  $("second-box").hidden = !pane.model.readsPairs;
  await pane.show(texts());
}

async function start() {
  const names = await modelNames().catch(() => []);
  if (!names.length) {
    $("waiting").hidden = false;
    return setTimeout(start, POLLING);
  }
  $("waiting").hidden = true;
  $("model").append(...names.map(name => element("option", {}, name)));
  $("panes").append(pane.element);
  await choose();
  document.body.dataset.ready = "yes";
}

$("model").addEventListener("change", choose);
for (const box of boxes) box.addEventListener("input", () => pane.show(texts(), TYPING));
start();
