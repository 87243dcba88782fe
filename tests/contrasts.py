"""How well the texts of a page can be read: a script for the browser, which returns [contrast, text] of each."""

CONTRASTS = """
const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
function rgb(color) {
  canvas.clearRect(0, 0, 1, 1);
  canvas.fillStyle = color;
  canvas.fillRect(0, 0, 1, 1);
  return [...canvas.getImageData(0, 0, 1, 1).data];
}
function luminance([red, green, blue]) {
  const linear = [red, green, blue].map(x => x / 255).map(x => x <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
  return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
}
function background(each) {
  while (each && rgb(getComputedStyle(each).backgroundColor)[3] < 255) each = each.parentElement;
  return rgb(getComputedStyle(each ?? document.documentElement).backgroundColor);
}
const found = [];
for (const each of document.querySelectorAll("body *")) {
  const own = [...each.childNodes].some(node => node.nodeType === 3 && node.data.trim());
  if (!own || !each.checkVisibility() || each.disabled || each.classList.contains("unseen")) continue;
  const style = getComputedStyle(each), front = rgb(each instanceof SVGElement ? style.fill : style.color);
  const [one, other] = [luminance(front), luminance(background(each))].sort((a, b) => b - a);
  found.push([(one + 0.05) / (other + 0.05), each.textContent]);
}
return found;
"""
