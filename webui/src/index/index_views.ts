// The views of a whole graph, each built on first use.

import type { ScopeView } from '../api/types';
import type { Watched } from './coverage';
import type { GraphIndex } from './graph_index';
import type { LiftedEdges } from './lifted_edges';
import { viewOf } from './scope_view';
import { spreadView } from './spread_view';

export class IndexViews extends Map<string, ScopeView> {
  constructor(
    readonly index: GraphIndex,
    private readonly lifted: LiftedEdges,
    readonly watched: Watched | null,
    // By node of a model: its attributes in short.
    readonly attributes: ReadonlyMap<string, string> | null = null,
  ) {
    super();
  }

  override get(name: string): ScopeView | undefined {
    const known = super.get(name);
    if (known !== undefined) return known;
    const view = viewOf(this.index, this.lifted, this.watched, name);
    if (view === null) return undefined;
    if (this.attributes !== null) for (const node of view.nodes) node.attributes = this.attributes.get(node.name) ?? '';
    super.set(name, view);
    return view;
  }

  private readonly spreads = new Map<string, ScopeView>();

  // The view of a scope with the children of `inner`, which are scopes in it, in their place.
  spread(scope: string, inner: readonly string[]): ScopeView {
    const key = [scope, ...inner].join('\n');
    let view = this.spreads.get(key);
    if (view === undefined) this.spreads.set(key, (view = spreadView(this.index, this.watched, scope, inner)));
    return view;
  }

  override has(name: string): boolean {
    return this.get(name) !== undefined;
  }
}
