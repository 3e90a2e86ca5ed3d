// The selected scope: its contents, the hits inside it and its parameters.

import { useMemo } from 'react';
import type { GraphNode, NodeDetail } from '../api/types';
import { formatCount, formatShape, shortDtype } from '../base/format';
import { NONE, type GraphIndex } from '../index/graph_index';
import { parametersOf } from '../index/parameters';
import { revealNode, useScopes } from '../state/scopes';
import { touch } from '../state/ui';
import { FullName } from '../widgets/full_name';
import { HitBadge } from '../widgets/node_marks';
import { andMore } from '../words/common';
import * as counts from '../words/counts';
import * as words from '../words/node';
import { useJobContext } from './job_context';
import './scope_pane.css';

// The tree shows the rest.
const MAX_LISTED = 100;

function Summary({ node }: { node: NodeDetail }) {
  return (
    <dl className="facts scope-facts">
      {node.op_type !== '' && (
        <>
          <dt>{words.scopeClass}</dt>
          <dd className="mono">{node.op_type}</dd>
        </>
      )}
      <dt>{words.contents}</dt>
      <dd>
        {words.contentsOf(counts.children(node.child_count), counts.nodes(node.descendant_count))}
      </dd>
      <dt>{words.watchedLabel}</dt>
      <dd>{words.watchedShare[node.watched]}</dd>
    </dl>
  );
}

// A node inside the scope, named relative to it.
function Entry({ scope, name, children }: { scope: string; name: string; children: React.ReactNode }) {
  return (
    <li>
      <button
        type="button"
        className="scope-entry"
        title={name}
        onClick={() => {
          touch();
          revealNode(name);
        }}
      >
        <FullName name={name.slice(scope.length + 1)} />
        {children}
      </button>
    </li>
  );
}

// Nodes inside the scope that have hits, those with the most hits first.
function hitNodes(index: GraphIndex, scope: string, hits: ReadonlyMap<string, number>): Array<[string, number]> {
  const isIn = (name: string) => {
    if (!name.startsWith(`${scope}/`)) return false;
    const item = index.find(name);
    return item !== NONE && !index.isScope(item);
  };
  return [...hits].filter(([name]) => isIn(name)).sort((a, b) => b[1] - a[1]);
}

function Hits({ scope, index }: { scope: string; index: GraphIndex }) {
  const { hitIndex } = useJobContext();
  const nodes = useMemo(() => hitNodes(index, scope, hitIndex), [index, scope, hitIndex]);
  return (
    <section className="scope-list" aria-label={words.hitsInside} tabIndex={0}>
      <h3>
        {words.hitsInside} <span className="muted">{nodes.length === 0 ? words.none : counts.nodes(nodes.length)}</span>
      </h3>
      <ul>
        {nodes.slice(0, MAX_LISTED).map(([name, count]) => (
          <Entry key={name} scope={scope} name={name}>
            <HitBadge count={count} />
          </Entry>
        ))}
      </ul>
    </section>
  );
}

function typeOf(node: GraphNode): string {
  const output = node.outputs[0];
  return output === undefined ? '' : `${formatShape(output.shape)} ${shortDtype(output.dtype)}`;
}

function Parameters({ scope, index }: { scope: string; index: GraphIndex }) {
  const { nodes, count, elements } = useMemo(() => parametersOf(index, scope, MAX_LISTED), [index, scope]);
  return (
    <section className="scope-list" aria-label={words.parameters} tabIndex={0}>
      <h3>
        {words.parameters}{' '}
        <span className="muted">{count === 0 ? words.none : `${formatCount(count)}, ${counts.elements(elements)}`}</span>
      </h3>
      <ul>
        {nodes.map((node) => (
          <Entry key={node.name} scope={scope} name={node.name}>
            <span className="mono muted">{typeOf(node)}</span>
          </Entry>
        ))}
      </ul>
      {count > nodes.length && <p className="muted">{andMore(formatCount(count - nodes.length))}</p>}
    </section>
  );
}

export function ScopePane({ node }: { node: NodeDetail }) {
  const index = useScopes((state) => state.index);
  return (
    <div className="node-body node-body-scope">
      <Summary node={node} />
      {index !== null && <Hits scope={node.name} index={index} />}
      {index !== null && <Parameters scope={node.name} index={index} />}
    </div>
  );
}
