// The texts of an index, decoded on demand.

export class Texts {
  private readonly decoder = new TextDecoder();
  // All texts decoded together, if every character is one byte, which is the usual case.
  private readonly whole: string | null;

  constructor(
    private readonly ends: Uint32Array,
    private readonly bytes: Uint8Array<ArrayBuffer>,
  ) {
    const whole = this.decoder.decode(bytes);
    this.whole = whole.length === bytes.length ? whole : null;
  }

  get count(): number {
    return this.ends.length;
  }

  at(text: number): string {
    const begin = text === 0 ? 0 : (this.ends[text - 1] as number);
    const end = this.ends[text] as number;
    if (this.whole !== null) return this.whole.slice(begin, end);
    return this.decoder.decode(this.bytes.subarray(begin, end));
  }
}
