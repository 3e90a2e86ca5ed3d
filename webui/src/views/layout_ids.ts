// Numbers of the layout requests to the worker. The whole graph and the neighbourhood share
// the worker's answers, so they also share the numbers.

export class LayoutIds {
  private last = 0;

  next(): number {
    this.last += 1;
    return this.last;
  }
}

export const layoutIds = new LayoutIds();
