// Finds the aggregates that contain a node or one of its scopes.

import { openName } from './aggregates';
import type { GraphIndex } from './graph_index';
import { isFold } from './model_folds';
import { modelGraphOf } from './model_graph';
import { pathTo } from './path';

type ByChild = ReadonlyMap<number, readonly string[]>;

const NOT_FOLDED: ByChild = new Map();

// Called for every hit, so each view is read only once.
export class Folds {
  private readonly views = new Map<string, ByChild>();

  constructor(private readonly index: GraphIndex) {}

  // Returns the names of the aggregates, outermost first.
  over(name: string): string[] {
    if (modelGraphOf(this.index) !== null) return this.inModel(name);
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

  // The place of a weight in a model does not follow from its name.
  private inModel(name: string): string[] {
    return pathTo(this.index, name).filter((view) => isFold(this.index, view));
  }

  private of(scope: string): ByChild {
    let known = this.views.get(scope);
    if (known === undefined) this.views.set(scope, (known = this.read(scope, scope, [])));
    return known;
  }

  // Maps each child that the view shows inside an aggregate to the aggregates that contain it.
  private read(view: string, scope: string, around: readonly string[]): ByChild {
    const folded = openName(this.index, view)?.shown.filter(({ label }) => label !== '') ?? [];
    if (folded.length === 0) return NOT_FOLDED;
    const holders = new Map<number, readonly string[]>();
    for (const { label, items } of folded) {
      const holding = [...around, scope === '' ? label : `${scope}/${label}`];
      for (const item of items) holders.set(item, holding);
      // A large aggregate contains ranges, which are aggregates too.
      for (const [item, inner] of this.read(holding.at(-1) as string, scope, holding)) holders.set(item, inner);
    }
    return holders;
  }
}
