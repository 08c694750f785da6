"use strict";
// Enlarge pictures by bicubic interpolation (Keys 1981, a = -1/2). Beyond an edge there is nothing: the
// weights of what is there are divided by their sum, as in Pillow.
function bicubic(picture, width, height) {
  const across = taps(picture.width, width), down = taps(picture.height, height);
  const wide = new Float32Array(picture.height * width * 3);
  for (let y = 0; y < picture.height; y++) {
    for (let x = 0; x < width; x++) {
      const { first, weights } = across[x];
      for (let channel = 0; channel < 3; channel++) {
        let sum = 0;
        for (let i = 0; i < weights.length; i++) {
          sum += weights[i] * picture.data[4 * (y * picture.width + first + i) + channel];
        }
        wide[3 * (y * width + x) + channel] = sum;
      }
    }
  }
  const found = new ImageData(width, height);
  for (let y = 0; y < height; y++) {
    const { first, weights } = down[y];
    for (let x = 0; x < width; x++) {
      const place = 4 * (y * width + x);
      for (let channel = 0; channel < 3; channel++) {
        let sum = 0;
        for (let i = 0; i < weights.length; i++) sum += weights[i] * wide[3 * ((first + i) * width + x) + channel];
        found.data[place + channel] = sum; // rounded, and clipped to 0..255
      }
      found.data[place + 3] = 255;
    }
  }
  return found;
}

// For each new sample: the first old one that counts, and the weights of it and those behind it.
function taps(from, to) {
  const kernel = (x) => (x < 1 ? (1.5 * x - 2.5) * x * x + 1 : x < 2 ? ((-0.5 * x + 2.5) * x - 4) * x + 2 : 0);
  return Array.from({ length: to }, (_, i) => {
    const centre = ((i + 0.5) * from) / to;
    const first = Math.max(0, Math.trunc(centre - 1.5)), last = Math.min(from, Math.trunc(centre + 2.5));
    const weights = Array.from({ length: last - first }, (_, k) => kernel(Math.abs(first + k - centre + 0.5)));
    const sum = weights.reduce((a, b) => a + b, 0);
    return { first, weights: weights.map((weight) => weight / sum) };
  });
}
