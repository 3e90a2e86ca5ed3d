// The views of a whole graph, each built on first use.

import type { ScopeView } from '../api/types';
import type { Watched } from './coverage';
import type { GraphIndex } from './graph_index';
import type { LiftedEdges } from './lifted_edges';
import { viewOf } from './scope_view';

export class IndexViews extends Map<string, ScopeView> {
  constructor(
    readonly index: GraphIndex,
    private readonly lifted: LiftedEdges,
    readonly watched: Watched | null,
  ) {
    super();
  }

  override get(name: string): ScopeView | undefined {
    const known = super.get(name);
    if (known !== undefined) return known;
    const view = viewOf(this.index, this.lifted, this.watched, name);
    if (view === null) return undefined;
    super.set(name, view);
    return view;
  }

  override has(name: string): boolean {
    return this.get(name) !== undefined;
  }
}
