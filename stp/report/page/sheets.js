"use strict";
// Sheets of pictures: data URIs of the page (stp/report/picture_sheets.py) as canvases to draw from.
const sheets = (() => {
  const PIXELATED = 160; // pixels: smaller frames are enlarged to blocks, larger ones smoothed
  let kept = {piece: "", made: new Map()};

  /** The colours of levels 1..255 as bytes of red, green, blue and opacity. */
  function bytesOf(name) {
    const hex = stp.data("forecasts").colours[name];
    const bytes = new Uint8ClampedArray(4 * 255).fill(255);
    for (let i = 0; i < 255; i++) {
      for (let j = 0; j < 3; j++) bytes[4 * i + j] = parseInt(hex.substr(6 * i + 2 * j, 2), 16);
    }
    return bytes;
  }

  /** A sheet as a canvas: levels become colours of a map, 0 stays clear; without a map they are shown as they are. */
  async function decoded(uri, map) {
    const image = new Image();
    image.src = uri;
    await image.decode();
    const canvas = stp.h("canvas", {width: image.naturalWidth, height: image.naturalHeight});
    const context = canvas.getContext("2d", {willReadFrequently: Boolean(map)});
    context.drawImage(image, 0, 0);
    if (map) {
      const colours = bytesOf(map);
      const pixels = context.getImageData(0, 0, canvas.width, canvas.height);
      for (let i = 0; i < pixels.data.length; i += 4) {
        const level = pixels.data[i];
        pixels.data.set(level ? colours.subarray(4 * level - 4, 4 * level) : [0, 0, 0, 0], i);
      }
      context.putImageData(pixels, 0, 0);
    }
    return canvas;
  }

  /** The same, kept while the same sample is shown. */
  function of(piece, uri, map) {
    if (kept.piece !== piece) kept = {piece, made: new Map()};
    const key = `${map}:${uri}`;
    if (!kept.made.has(key)) kept.made.set(key, decoded(uri, map));
    return kept.made.get(key);
  }

  /** A place for a frame of an evaluation: {place, canvas}. */
  function frame({size, aspect, coast}, alt) {
    const [width, height] = size;
    const canvas = stp.h("canvas", {width, height, role: "img", "aria-label": alt,
      class: Math.max(width, height) <= PIXELATED ? "blocks" : null});
    const place = stp.h("div", {class: "picture", style: `aspect-ratio: ${aspect}`}, canvas);
    const line = stp.data("forecasts").coasts[coast];
    if (line) place.append(outline(line));
    return {place, canvas};
  }

  function outline({path, box}) {
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    svg.setAttribute("viewBox", `0 0 ${box.join(" ")}`);
    svg.setAttribute("preserveAspectRatio", "none");
    svg.setAttribute("aria-hidden", "true");
    const line = document.createElementNS("http://www.w3.org/2000/svg", "path");
    line.setAttribute("d", path);
    svg.append(line);
    return svg;
  }

  /** Draw a part of the i-th frame of a sheet, from a column of pixels to another one. */
  function put(pen, {size, pitch}, sheet, columns, i, from = 0, to = size[0]) {
    if (to <= from) return;
    pen.drawImage(sheet, (i % columns) * pitch[0] + from, Math.floor(i / columns) * pitch[1], to - from, size[1],
      from, 0, to - from, size[1]);
  }

  return {decoded, of, frame, put};
})();
