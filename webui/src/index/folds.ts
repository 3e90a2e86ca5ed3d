// Which aggregates hold a node or what is around it. Each view is looked through once,
// as this is asked for every hit.

import { openName } from './aggregates';
import type { GraphIndex } from './graph_index';

type ByChild = ReadonlyMap<number, readonly string[]>;

const NONE_HOLD: ByChild = new Map();

export class Folds {
  private readonly views = new Map<string, ByChild>();

  constructor(private readonly index: GraphIndex) {}

  // Outermost first.
  over(name: string): string[] {
    const folds: string[] = [];
    let scope = '';
    for (let cut = name.indexOf('/'); ; cut = name.indexOf('/', cut + 1)) {
      const next = cut < 0 ? name : name.slice(0, cut);
      const children = this.of(scope);
      if (children.size > 0) folds.push(...(children.get(this.index.find(next)) ?? []));
      if (cut < 0) return folds;
      scope = next;
    }
  }

  private of(scope: string): ByChild {
    let known = this.views.get(scope);
    if (known === undefined) this.views.set(scope, (known = this.read(scope, scope, [])));
    return known;
  }

  // The children that a view shows folded, each with the aggregates that hold it.
  private read(view: string, scope: string, around: readonly string[]): ByChild {
    const folded = openName(this.index, view)?.shown.filter(({ label }) => label !== '') ?? [];
    if (folded.length === 0) return NONE_HOLD;
    const holders = new Map<number, readonly string[]>();
    for (const { label, items } of folded) {
      const holding = [...around, scope === '' ? label : `${scope}/${label}`];
      for (const item of items) holders.set(item, holding);
      // Of very many, ranges in turn.
      for (const [item, inner] of this.read(holding.at(-1) as string, scope, holding)) holders.set(item, inner);
    }
    return holders;
  }
}
