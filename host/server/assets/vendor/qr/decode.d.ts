// What the app uses of the vendored reader of QR codes.

export default function decode(image: { width: number; height: number; data: Uint8ClampedArray }): string;
