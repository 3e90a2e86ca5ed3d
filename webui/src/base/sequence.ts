// Numbers that identify requests and messages: 1, 2, 3, …
export class Sequence {
  private last = 0;

  next(): number {
    this.last += 1;
    return this.last;
  }
}
