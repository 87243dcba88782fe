// Draws a tree that grows: every node has its place from the beginning, and appears when it is made.
import { svg } from "./elements.js";

const LETTER = 8.5, GAP = 28, STEP = 44, SMALLEST_STEP = 16, HEIGHT = 420, MARGIN = 14, SMALLEST_SCALE = 0.7;

// { drawing, show }: show(count) shows what the first so many transitions make.
export function drawTree(root) {
  const top = height(root), step = Math.max(SMALLEST_STEP, Math.min(STEP, HEIGHT / Math.max(top, 1)));
  const y = node => MARGIN + step * (top - height(node));
  const lines = svg("g"), marks = svg("g"), parts = [];
  let width = 0;

  function place(node) {
    if ("word" in node) {
      const own = LETTER * node.word.length + GAP, x = width + own / 2;
      width += own;
      const label = svg("text", { x, y: y(node) + 6, "text-anchor": "middle", class: "word" }, node.word);
      marks.append(label);
      parts.push({ index: node.index, elements: [label] });
      return x;
    }
    const xs = [place(node.left), place(node.right)], x = (xs[0] + xs[1]) / 2;
    const branches = [node.left, node.right].map((child, i) => {
      const end = y(child) - ("word" in child ? 10 : 0);
      return svg("line", { x1: x, y1: y(node), x2: xs[i], y2: end });
    });
    const mark = svg("circle", { cx: x, cy: y(node), r: 4.5 });
    lines.append(...branches);
    marks.append(mark);
    parts.push({ index: node.index, elements: [...branches, mark] });
    return x;
  }

  place(root);
  const bottom = MARGIN + step * top + MARGIN;
  const size = { width, height: bottom, viewBox: `0 0 ${width} ${bottom}` };
  const drawing = svg("svg", { ...size, class: "tree", role: "img" }, lines, marks);
  drawing.style.minWidth = `${SMALLEST_SCALE * width}px`; // in a narrow window; smaller, it would not be legible

  function show(count) {
    for (const { index, elements } of parts) {
      for (const each of elements) {
        each.classList.toggle("made", index < count);
        each.classList.toggle("new", index === count - 1);
      }
    }
  }

  return { drawing, show };
}

function height(node) {
  return "word" in node ? 0 : 1 + Math.max(height(node.left), height(node.right));
}
