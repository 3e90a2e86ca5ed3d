// The side panel of an opened model: of the selected op its attributes, inputs, weights and outputs;
// with nothing selected, of the whole model, and how to run it.

import { Copy, X } from 'lucide-react';
import { useMemo } from 'react';
import { useQueries } from '@tanstack/react-query';
import { api } from '../api/client';
import type { NodeDetail, Statistics } from '../api/types';
import { isRun } from '../base/run_id';
import { formatCount, formatNumber, formatShape, shortDtype } from '../base/format';
import { labelOf } from '../base/names';
import { NONE, type GraphIndex } from '../index/graph_index';
import { isFold, modelFolds } from '../index/model_folds';
import { ownerOf } from '../index/model_graph';
import { boundaryOf, portOf, type Port } from '../index/model_ports';
import { parametersOf } from '../index/parameters';
import { opTypesOf } from '../index/scope_contents';
import type { Opened } from '../index/shown';
import { copyText } from '../state/clipboard';
import { describe } from '../state/describe';
import { useJob } from '../state/job_store';
import { useNode } from '../state/queries';
import { revealNode, selectNode, useScopes } from '../state/scopes';
import { setSearchText } from '../state/search_text';
import { touch } from '../state/ui';
import { Button } from '../widgets/button';
import { GuideLink } from '../widgets/guide_link';
import { FullName } from '../widgets/full_name';
import { Notice } from '../widgets/notice';
import { Panel } from '../widgets/panel';
import { andMore } from '../words/common';
import * as counts from '../words/counts';
import * as words from '../words/model';
import { loadingNode, nodeNotLoaded } from '../words/node';
import { useJobContext } from './job_context';
import './model_panel.css';

const MAX_LISTED = 50;
// Statistics are requested one by one.
const MAX_MEASURED = 8;
const WEIGHTS = new Set(['parameter', 'buffer', 'constant']);

const typeText = ({ shape, dtype }: Pick<Port, 'shape' | 'dtype'>) =>
  dtype === '' ? words.unknownShape : `${formatShape(shape)} ${shortDtype(dtype)}`;

// The statistics of weights, which are known without a run.
function useWeightStatistics(names: readonly string[]): ReadonlyMap<string, Statistics> {
  const { id } = useJobContext();
  const answerable = useJob(({ model }) => model.info?.state === 'paused');
  const answers = useQueries({
    queries: names.slice(0, MAX_MEASURED).map((name) => ({
      queryKey: ['statistics', id, name, 0, null, 'weights'],
      queryFn: ({ signal }: { signal: AbortSignal }) => api.statistics(id, { name, rank: 0, step: null }, signal),
      enabled: answerable,
    })),
  });
  return new Map(answers.flatMap(({ data }) => (data === undefined ? [] : [[data.name, data.statistics] as const])));
}

function PortList({ title, ports, statistics }: { title: string; ports: readonly Port[]; statistics?: ReadonlyMap<string, Statistics> }) {
  if (ports.length === 0) return null;
  return (
    <>
      <h3>
        {title} <span className="muted">{formatCount(ports.length)}</span>
      </h3>
      <ul aria-label={title}>
        {ports.slice(0, MAX_LISTED).map((port) => {
          const measured = statistics?.get(`${port.node}:${port.slot}`);
          return (
            <li key={`${port.node}:${port.slot}`}>
              <button
                type="button"
                className="model-port"
                title={port.node}
                onClick={() => {
                  touch();
                  revealNode(port.node);
                }}
              >
                <FullName name={port.title ?? labelOf(port.node)} />
                <span className="mono muted">{typeText(port)}</span>
                {measured !== undefined && (
                  <span className="mono muted model-statistics">
                    {words.statistics(formatNumber(measured.min, 3), formatNumber(measured.max, 3), formatNumber(measured.mean, 3))}
                  </span>
                )}
              </button>
            </li>
          );
        })}
      </ul>
      {ports.length > MAX_LISTED && <p className="muted">{andMore(formatCount(ports.length - MAX_LISTED))}</p>}
    </>
  );
}

function Attributes({ attributes }: { attributes: NodeDetail['attributes'] }) {
  const entries = Object.entries(attributes);
  if (entries.length === 0) return null;
  return (
    <>
      <h3>{words.attributes}</h3>
      <dl className="facts model-facts">
        {entries.map(([key, value]) => (
          <div key={key} className="fact">
            <dt className="mono">{key}</dt>
            <dd className="mono">{typeof value === 'string' ? value : JSON.stringify(value)}</dd>
          </div>
        ))}
      </dl>
    </>
  );
}

function OpTypes({ index, scope }: { index: GraphIndex; scope: string }) {
  const types = useMemo(() => opTypesOf(index, scope), [index, scope]);
  if (types.length === 0) return null;
  return (
    <>
      <h3>{words.opTypes}</h3>
      <ul aria-label={words.opTypes}>
        {types.slice(0, MAX_LISTED).map(([type, count]) => (
          <li key={type}>
            <button type="button" className="model-port" onClick={() => setSearchText(`type:${type}`)}>
              <span className="mono">{type}</span>
              <span className="mono muted">{formatCount(count)}</span>
            </button>
          </li>
        ))}
      </ul>
    </>
  );
}

function Node({ node, index }: { node: NodeDetail; index: GraphIndex | null }) {
  const isWeight = ({ node: name }: Port) => {
    const item = index?.find(name) ?? NONE;
    return item !== NONE && index !== null && WEIGHTS.has(index.kind(item));
  };
  const weights = node.inputs.filter(isWeight);
  const measured = useWeightStatistics((WEIGHTS.has(node.kind) ? [{ node: node.name, slot: 0 }] : weights).map(({ node: name, slot }) => `${name}:${slot}`));
  const outputs = node.outputs.map((output) => ({ ...output, node: node.name }));
  return (
    <>
      <dl className="facts model-facts">
        <div className="fact">
          <dt>{words.type}</dt>
          <dd className="mono">{node.op_type === '' ? node.kind : node.op_type}</dd>
        </div>
        <div className="fact">
          <dt>{words.name}</dt>
          <dd className="mono">{node.name}</dd>
        </div>
      </dl>
      <Attributes attributes={node.attributes} />
      <PortList title={words.inputs} ports={node.inputs.filter((port) => !isWeight(port))} />
      <PortList title={words.weights} ports={weights} statistics={measured} />
      <PortList title={words.outputs} ports={outputs} statistics={measured} />
      {node.kind === 'scope' && index !== null && <OpTypes index={index} scope={node.name} />}
    </>
  );
}

// A block that the page itself has folded: the server does not know it.
function Fold({ name, index }: { name: string; index: GraphIndex }) {
  const { shown } = modelFolds(index).get(name) as Opened;
  const ports = shown
    .filter(({ items }) => ownerOf(index, items[0] as number) === NONE)
    .map(({ items, title }) => portOf(index, items[0] as number, title));
  return <PortList title={words.contents} ports={ports} />;
}

function NodeProperties({ name }: { name: string }) {
  const { id } = useJobContext();
  const index = useScopes((state) => state.index);
  const node = useNode(id, name);
  if (node.data !== undefined) return <Node node={node.data} index={index} />;
  if (node.error === null) return <Notice title={loadingNode} busy />;
  return (
    <Notice title={nodeNotLoaded(name)} tone="error">
      <p>{describe(node.error)}</p>
    </Notice>
  );
}

function Whole({ index }: { index: GraphIndex }) {
  const file = useJob(({ model }) => model.info?.name ?? '');
  const { inputs, outputs } = useMemo(() => boundaryOf(index), [index]);
  const { id } = useJobContext();
  const weights = useMemo(() => parametersOf(index, '', 0), [index]);
  const ops = useMemo(() => opTypesOf(index, '').reduce((sum, [, count]) => sum + count, 0), [index]);
  const command = words.runCommand(file);
  return (
    <>
      <dl className="facts model-facts">
        <div className="fact">
          <dt>{words.file}</dt>
          <dd className="mono">{file}</dd>
        </div>
        <div className="fact">
          <dt>{words.ops}</dt>
          <dd className="mono">{formatCount(ops)}</dd>
        </div>
        <div className="fact">
          <dt>{words.weights}</dt>
          <dd className="mono">{words.weightsOf(formatCount(weights.count), counts.elements(weights.elements))}</dd>
        </div>
      </dl>
      <PortList title={words.inputs} ports={inputs} />
      <PortList title={words.outputs} ports={outputs} />
      {!isRun(id) && (
        <>
          <h3>{words.runTitle}</h3>
          <p className="muted">{words.runHint}</p>
          <p className="model-command">
            <code className="mono">{command}</code>
            <Button label={words.copyCommand} icon={Copy} iconOnly small onClick={() => void copyText(command)} />
          </p>
        </>
      )}
      <OpTypes index={index} scope="" />
    </>
  );
}

export function ModelPanel() {
  const { route } = useJobContext();
  const index = useScopes((state) => state.index);
  const name = route?.node ?? null;
  const body = () => {
    if (index === null) return name === null ? null : <NodeProperties name={name} />;
    if (name === null) return <Whole index={index} />;
    return isFold(index, name) ? <Fold name={name} index={index} /> : <NodeProperties name={name} />;
  };
  const close = <Button label={words.wholeModel} icon={X} iconOnly small tone="quiet" onClick={() => selectNode(null)} />;
  return (
    <Panel title={name === null ? words.model : words.node} actions={name === null ? <GuideLink page="models" /> : close}>
      <div className="model-panel">{body()}</div>
    </Panel>
  );
}
