// The selected scope: its contents, the hits inside it, its outputs, and its parameters with their
// gradients.

import { useMemo } from 'react';
import type { GraphNode, NodeDetail } from '../api/types';
import { formatCount, formatNumber, formatShape, shortDtype } from '../base/format';
import { gradientOf, type Gradient } from '../index/gradients';
import { NONE, type GraphIndex } from '../index/graph_index';
import { parametersOf } from '../index/parameters';
import { opTypesOf, outputsOf } from '../index/scope_contents';
import { revealNode, useScopes } from '../state/scopes';
import { setSearchText } from '../state/search_text';
import { touch } from '../state/ui';
import { FullName } from '../widgets/full_name';
import { HitBadge } from '../widgets/node_marks';
import { andMore } from '../words/common';
import * as counts from '../words/counts';
import * as words from '../words/node';
import { notFiniteCount as notFinite } from '../words/tensor';
import { useJobContext } from './job_context';
import { useOutputStatistics, type OutputStatistics } from './use_output_statistics';
import './scope_pane.css';

// The tree shows the rest.
const MAX_LISTED = 100;
const MAX_TYPES = 12;
// Statistics are requested one by one.
const MAX_MEASURED = 12;

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
      <Outputs scope={scope} index={index} />
    </section>
  );
}

function OpTypes({ scope, index }: { scope: string; index: GraphIndex }) {
  const types = useMemo(() => opTypesOf(index, scope), [index, scope]);
  if (types.length === 0) return null;
  return (
    <>
      <h3>{words.opTypes}</h3>
      <ul>
        {types.slice(0, MAX_TYPES).map(([type, count]) => (
          <li key={type}>
            <button type="button" className="scope-entry" title={words.findOps(type)} onClick={() => setSearchText(`type:${type}`)}>
              <span className="mono ellipsis">{type}</span>
              <span className="mono muted">{formatCount(count)}</span>
            </button>
          </li>
        ))}
      </ul>
      {types.length > MAX_TYPES && <p className="muted">{andMore(formatCount(types.length - MAX_TYPES))}</p>}
    </>
  );
}

function Outputs({ scope, index }: { scope: string; index: GraphIndex }) {
  const names = useMemo(() => outputsOf(index, scope), [index, scope]);
  const shown = names.slice(0, MAX_MEASURED);
  const known = useOutputStatistics(shown);
  if (names.length === 0) return null;
  return (
    <>
      <h3>
        {words.scopeOutputs} <span className="muted">{formatCount(names.length)}</span>
      </h3>
      <ul>
        {shown.map((name) => {
          const found = known.get(name);
          return (
            <Entry key={name} scope={scope} name={name}>
              {found !== undefined && <Figures {...found} />}
            </Entry>
          );
        })}
      </ul>
      {names.length > shown.length && <p className="muted">{andMore(formatCount(names.length - shown.length))}</p>}
    </>
  );
}

function Figures({ statistics, old }: OutputStatistics) {
  const { nan_count, pos_inf_count, neg_inf_count, abs_max, mean } = statistics;
  const special = nan_count + pos_inf_count + neg_inf_count;
  return (
    <span className={`mono ${special > 0 ? 'scope-special' : 'muted'}`}>
      {special > 0 ? notFinite(formatCount(special)) : words.outputFigures(formatNumber(abs_max, 3), formatNumber(mean, 3))}
      {old !== null && words.ofStep(old)}
    </span>
  );
}

function shapeOf(node: GraphNode): string {
  const output = node.outputs[0];
  return output === undefined ? '' : `${formatShape(output.shape)} ${shortDtype(output.dtype)}`;
}

// A parameter with the size of its values and of its gradient.
function ParameterRow({ scope, node, gradient, known }: {
  scope: string;
  node: GraphNode;
  gradient: Gradient;
  known: ReadonlyMap<string, OutputStatistics>;
}) {
  const slope = gradient.state === 'computed' ? known.get(gradient.node) : undefined;
  const size = slope === undefined ? '–' : formatNumber(slope.statistics.l2, 3);
  const weight = known.get(node.name);
  return (
    <tr>
      <td className="scope-parameter">
        <button
          type="button"
          className="link"
          title={node.name}
          onClick={() => {
            touch();
            revealNode(node.name);
          }}
        >
          <FullName name={node.name.slice(scope.length + 1)} />
        </button>
      </td>
      <td className="mono muted">{shapeOf(node)}</td>
      <td className="number mono">{weight === undefined ? '–' : formatNumber(weight.statistics.abs_mean, 3)}</td>
      <td className="number mono" title={gradient.state === 'none' ? words.noGradient : undefined}>
        {gradient.state === 'none' ? words.noGradientShort : size}
      </td>
    </tr>
  );
}

function Parameters({ scope, index }: { scope: string; index: GraphIndex }) {
  const { nodes, count, elements } = useMemo(() => parametersOf(index, scope, MAX_LISTED), [index, scope]);
  const gradients = useMemo(() => nodes.map((node) => gradientOf(index, node.name)), [index, nodes]);
  const measured = nodes.slice(0, MAX_MEASURED).flatMap((node, i) => {
    const gradient = gradients[i] as Gradient;
    return gradient.state === 'computed' ? [node.name, gradient.node] : [node.name];
  });
  const known = useOutputStatistics(measured);
  return (
    <section className="scope-list" aria-label={words.parameters} tabIndex={0}>
      <h3>
        {words.parameters}{' '}
        <span className="muted">{count === 0 ? words.none : words.parametersOf(formatCount(count), counts.elements(elements))}</span>
      </h3>
      {count > 0 && (
        <table className="scope-parameters">
          <thead>
            <tr>
              <th>{words.parameterColumns.name}</th>
              <th>{words.parameterColumns.shape}</th>
              <th className="number">{words.parameterColumns.weight}</th>
              <th className="number">{words.parameterColumns.gradient}</th>
            </tr>
          </thead>
          <tbody>
            {nodes.map((node, i) => (
              <ParameterRow key={node.name} scope={scope} node={node} gradient={gradients[i] as Gradient} known={known} />
            ))}
          </tbody>
        </table>
      )}
      {count > nodes.length && <p className="muted">{andMore(formatCount(count - nodes.length))}</p>}
    </section>
  );
}

export function ScopePane({ node }: { node: NodeDetail }) {
  const index = useScopes((state) => state.index);
  return (
    <div className="node-body node-body-scope">
      <section className="scope-list" aria-label={words.contents} tabIndex={0}>
        <Summary node={node} />
        {index !== null && <OpTypes scope={node.name} index={index} />}
      </section>
      {index !== null && <Hits scope={node.name} index={index} />}
      {index !== null && <Parameters scope={node.name} index={index} />}
    </div>
  );
}
