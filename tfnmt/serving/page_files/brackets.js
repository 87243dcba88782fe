// Trees in brackets, and the transitions that make them. A node is { word, index } or { left, right, index }; the index
// is that of the transition that makes it.

export const SHIFT = "SHIFT", REDUCE = "REDUCE";

// "( ( A dog ) runs )" → { words, transitions }; null where the text is no binary tree.
export function readBrackets(text) {
  const words = [], transitions = [];
  let open = 0, nodes = 0;
  for (const token of text.trim().split(/\s+/)) {
    if (token === "(") {
      open++;
      continue;
    }
    if (token === ")") open--, nodes--;
    else words.push(token), nodes++;
    transitions.push(token === ")" ? REDUCE : SHIFT);
    if (open < 0 || nodes < 1) return null;
  }
  return open === 0 && nodes === 1 ? { words, transitions } : null;
}

// All states that the transitions lead through, the one before the first included: { stack, buffer, choices }. The
// choices are the transitions that are possible there.
export function statesOf({ words, transitions }) {
  let stack = [], buffer = words;
  const states = [stateOf(stack, buffer)];
  transitions.forEach((transition, index) => {
    if (transition === SHIFT) {
      stack = [...stack, { word: buffer[0], index }];
      buffer = buffer.slice(1);
    } else {
      const [left, right] = stack.slice(-2);
      stack = [...stack.slice(0, -2), { left, right, index }];
    }
    states.push(stateOf(stack, buffer));
  });
  return states;
}

function stateOf(stack, buffer) {
  return { stack, buffer, choices: [...(buffer.length ? [SHIFT] : []), ...(stack.length > 1 ? [REDUCE] : [])] };
}

// A node as text: "( A dog )".
export function writeBrackets(node) {
  return "word" in node ? node.word : `( ${writeBrackets(node.left)} ${writeBrackets(node.right)} )`;
}
