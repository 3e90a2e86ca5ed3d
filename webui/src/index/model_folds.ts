// Folds the scopes of a model that have many ops: repeated blocks become "Block × 12", and what is
// between them becomes blocks of its own. Names of ops count for nothing, only their types and edges.

import * as words from '../words/blocks';
import { NONE, type GraphIndex } from './graph_index';
import { childrenShown, modelGraphOf, ownerOf } from './model_graph';
import { repeatsIn, type Run } from './repeats';
import { visitNodes } from './scope_contents';
import { chainsOf, segmentsOf, type Links } from './segments';
import type { Opened, Shown } from './shown';

// Scopes with fewer ops are shown as they are.
const FOLD_ABOVE = 40;
// A smaller block would hide more than it saves.
const MIN_BLOCK = 4;
const MIN_TIMES_OF_ONE = 8;
// In segments.
const MAX_PERIOD = 64;

// A row, or a run or segment of parts.
interface Part {
  kind: 'row' | 'segment' | 'run';
  // The children of the scope in it, without the weights that belong to ops.
  rows: number[];
  parts: Part[];
  signature: number;
}

// Equal texts have equal numbers.
class Numbers {
  private readonly known = new Map<string, number>();

  of(text: string): number {
    let number = this.known.get(text);
    if (number === undefined) this.known.set(text, (number = this.known.size));
    return number;
  }
}

class Folder {
  private readonly rows: number[];
  // By row: its position.
  private readonly places: ReadonlyMap<number, number>;
  private readonly links: Links;
  private readonly numbers = new Numbers();

  constructor(
    private readonly index: GraphIndex,
    private readonly scope: number,
    private readonly views: Map<string, Opened>,
  ) {
    this.rows = [...childrenShown(index, scope)].filter((item) => ownerOf(index, item) === NONE);
    this.places = new Map(this.rows.map((item, at) => [item, at]));
    this.links = this.rows.length > FOLD_ABOVE ? this.linksOf() : { from: [], to: [] };
  }

  fold(): void {
    if (this.rows.length <= FOLD_ABOVE) return;
    let parts = this.segments();
    // Short patterns first: longer ones may then contain their runs.
    for (let period = 1; period <= MAX_PERIOD && rowCount(parts) > FOLD_ABOVE; period += 1) parts = this.foldRuns(parts, period);
    const shown = this.shownOf(parts, rowCount(parts) > FOLD_ABOVE);
    if (shown.length < this.rows.length) this.views.set(this.index.name(this.scope), { scope: this.scope, shown: this.withWeights(shown) });
  }

  // Edges between rows, as positions.
  private linksOf(): Links {
    const { index, places } = this;
    const find = (node: number) => {
      let item = node + index.scopeCount;
      while (!places.has(item) && item !== 0) item = index.parent(item);
      return places.get(item) ?? -1;
    };
    const from: number[] = [];
    const to: number[] = [];
    visitNodes(index, this.scope, (item) => {
      const node = item - index.scopeCount;
      const reader = find(node);
      for (let edge = node === 0 ? 0 : (index.edgeEnd[node - 1] as number); edge < (index.edgeEnd[node] as number); edge += 1) {
        const read = (node - (index.edgeBack[edge] as number)) >>> 0;
        const source = reader < 0 || ownerOf(index, read + index.scopeCount) !== NONE ? -1 : find(read);
        if (source < 0 || source === reader) continue;
        from.push(source);
        to.push(reader);
      }
    });
    return { from, to };
  }

  private segments(): Part[] {
    const { rows, index } = this;
    const aside = (at: number) => !index.isScope(rows[at] as number) && index.kind(rows[at] as number) !== 'op';
    const starts = segmentsOf(rows.length, this.links, aside);
    const sources: number[][] = rows.map(() => []);
    this.links.from.forEach((source, i) => sources[this.links.to[i] as number]?.push(source));
    return starts.flatMap((begin, i) => {
      const end = starts[i + 1] ?? rows.length;
      // Ops of a large segment without blocks are still in chains, such as convolution, normalization, activation.
      const places = end - begin > FOLD_ABOVE ? chainsOf(begin, end, this.links) : [Array.from({ length: end - begin }, (_, k) => begin + k)];
      return places.map((each) => this.segment(each, sources));
    });
  }

  private segment(places: readonly number[], sources: readonly number[][]): Part {
    const parts = places.map((at): Part => {
      const row = this.rows[at] as number;
      return { kind: 'row', rows: [row], parts: [], signature: this.typeOf(row) };
    });
    if (parts.length === 1) return parts[0] as Part;
    const inside = new Map(places.map((at, i) => [at, i]));
    const text = places.map((at, i) => `${parts[i]?.signature}<${sources[at]?.map((source) => inside.get(source) ?? 'x').join()}`);
    return { kind: 'segment', rows: parts.flatMap(({ rows }) => rows), parts, signature: this.numbers.of(text.join(';')) };
  }

  // Equal for ops of one type, and for scopes with the same contents.
  private typeOf(item: number): number {
    const { index } = this;
    if (!index.isScope(item)) return this.numbers.of(`${index.kind(item)} ${index.opTypeText(item)}`);
    return this.numbers.of(`{${Array.from(childrenShown(index, item), (child) => this.typeOf(child)).join()}}`);
  }

  private foldRuns(parts: readonly Part[], period: number): Part[] {
    const wanted = ({ at, times }: Run) => {
      const ops = rowsOf(parts.slice(at, at + period)).length;
      return ops >= 2 ? ops * times >= MIN_BLOCK : times >= MIN_TIMES_OF_ONE;
    };
    const signatures = parts.map(({ signature }) => signature);
    const runs = new Map(repeatsIn(signatures, period, wanted).map((run) => [run.at, run]));
    if (runs.size === 0) return [...parts];
    const folded: Part[] = [];
    for (let at = 0; at < parts.length; ) {
      const run = runs.get(at);
      if (run === undefined) folded.push(parts[at++] as Part);
      else {
        folded.push(this.run(parts, run));
        at += run.period * run.times;
      }
    }
    return folded;
  }

  private run(parts: readonly Part[], { at, period, times }: Run): Part {
    const blocks = Array.from({ length: times }, (_, i): Part => {
      const own = parts.slice(at + i * period, at + (i + 1) * period);
      if (own.length === 1) return own[0] as Part;
      return { kind: 'segment', rows: rowsOf(own), parts: own, signature: this.numbers.of(own.map(({ signature }) => signature).join(' ')) };
    });
    return { kind: 'run', rows: rowsOf(blocks), parts: blocks, signature: this.numbers.of(`${times}×${blocks[0]?.signature}`) };
  }

  private shownOf(parts: readonly Part[], foldSegments: boolean): Shown[] {
    return parts.flatMap((part): Shown[] => {
      if (part.kind === 'run') return [this.runShown(part)];
      if (part.kind === 'row') return [{ items: part.rows, label: '' }];
      if (foldSegments && part.rows.length >= MIN_BLOCK) return [this.blockShown(part, words.block)];
      return this.shownOf(part.parts, false);
    });
  }

  private runShown(run: Part): Shown {
    const [first] = run.parts as [Part];
    const times = run.parts.length;
    const single = first.kind === 'row' ? this.index.opType(first.rows[0] as number) : '';
    const shown = run.parts.flatMap((block, i) =>
      block.kind === 'segment' ? [this.blockShown(block, words.blockOf(i + 1, times))] : this.shownOf([block], false),
    );
    const title = words.repeated(single, times);
    return this.register(`blocks@${this.placeOf(run)}`, run, shown, title, single === '' ? this.summary(first, true) : '');
  }

  private blockShown(block: Part, title: string): Shown {
    return this.register(`block@${this.placeOf(block)}`, block, this.shownOf(block.parts, false), title, this.summary(block, false));
  }

  private register(prefix: string, part: Part, shown: Shown[], title: string, detail: string): Shown {
    const scope = this.index.name(this.scope);
    const nameOf = (label: string) => (scope === '' ? label : `${scope}/${label}`);
    let label = prefix;
    // The first block of a run starts where the block around that run does.
    for (let i = 2; this.views.has(nameOf(label)); i += 1) label = `${prefix}.${i}`;
    this.views.set(nameOf(label), { scope: this.scope, shown: this.withWeights(shown) });
    return { items: part.rows, label, title, detail, count: shown.length };
  }

  private placeOf(part: Part): number {
    return this.places.get(part.rows[0] as number) as number;
  }

  private summary(part: Part, each: boolean): string {
    const types = [part.rows[0], part.rows.at(-1)].map((item) => this.index.opType(item as number) || this.index.label(item as number));
    return words.contents(part.rows.length, each, types[0] as string, types[1] as string);
  }

  // Ops are followed by their weights, and folds have those of their ops.
  private withWeights(shown: readonly Shown[]): Shown[] {
    const children = modelGraphOf(this.index)?.owned;
    const weights = (item: number) => children?.get(item) ?? [];
    return shown.flatMap((each): Shown[] =>
      each.label === ''
        ? [each, ...each.items.flatMap(weights).map((item) => ({ items: [item], label: '' }))]
        : [{ ...each, items: each.items.flatMap((item) => [item, ...weights(item)]) }],
    );
  }
}

const rowsOf = (parts: readonly Part[]) => parts.flatMap(({ rows }) => rows);

// The number of boxes while segments are not folded.
function rowCount(parts: readonly Part[]): number {
  return parts.reduce((sum, { kind, rows }) => sum + (kind === 'run' ? 1 : rows.length), 0);
}

// The page itself makes folds: the server does not know them.
export function isFold(index: GraphIndex | null, name: string): boolean {
  return index !== null && modelFolds(index).has(name) && index.find(name) === NONE;
}

const known = new WeakMap<GraphIndex, ReadonlyMap<string, Opened>>();

// By name: the views of folded scopes, and of their folds. Empty for graphs of training.
export function modelFolds(index: GraphIndex): ReadonlyMap<string, Opened> {
  let found = known.get(index);
  if (found === undefined) {
    const views = new Map<string, Opened>();
    known.set(index, (found = views));
    if (modelGraphOf(index) !== null) for (let scope = 0; scope < index.scopeCount; scope += 1) new Folder(index, scope, views).fold();
  }
  return found;
}
