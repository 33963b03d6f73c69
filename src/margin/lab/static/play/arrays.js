// Arrays that the server packed.
export function unpack({ shape, type, data }) {
  const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
  return { shape, values: type === "u8" ? bytes : new Float32Array(bytes.buffer) };
}
