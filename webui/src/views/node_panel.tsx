// The selected node, at the bottom: its tensors, the values of one of them and its source.

import { ArrowRightToLine, Eye, Maximize2, Minimize2 } from 'lucide-react';
import { lazy, Suspense } from 'react';
import { Problem } from '../api/problem';
import type { NodeDetail, TensorSummary } from '../api/types';
import { labelOf } from '../base/names';
import { NONE, type GraphIndex } from '../index/graph_index';
import { useAuth } from '../state/auth';
import { useTargets } from '../state/command_ranks';
import { availability, rankFor } from '../state/controls';
import { describe } from '../state/describe';
import { isOpenedModel, isOver } from '../state/job';
import { sendCommand, useJob } from '../state/job_store';
import { useNode, useTensors } from '../state/queries';
import { selectNode, useScopes } from '../state/scopes';
import { NO_FILTER, openWatchForm, setHitFilter, setTall, touch, useUi } from '../state/ui';
import { hasFailedAt } from '../state/words';
import { Button } from '../widgets/button';
import { KindIcon } from '../widgets/kind_icon';
import { HitBadge, NodeMarks } from '../widgets/node_marks';
import { Notice } from '../widgets/notice';
import { loading, tryAgain } from '../words/common';
import { commandNames, rankCaption } from '../words/control';
import * as words from '../words/node';
import { useJobContext } from './job_context';
import { TensorTable } from './tensor_table';
import { tensorKey } from './tensor_key';
import { panelOf } from './tensor_panels';
import { useReasonAgainst } from './use_reason_against';
import { ValuesPane } from './values_pane';
import { useStopVersion } from './use_stop_version';
import './node_panel.css';

const ScopePane = lazy(async () => ({ default: (await import('./scope_pane')).ScopePane }));
const SourcePane = lazy(async () => ({ default: (await import('./source_pane')).SourcePane }));
const OpDocumentation = lazy(async () => ({ default: (await import('./op_documentation')).OpDocumentation }));
// Only jobs of several ranks have one.
const RankStrip = lazy(async () => ({ default: (await import('./rank_differences')).RankStrip }));
// Only nodes with hits have one.
const DiagnosisCard = lazy(async () => ({ default: (await import('./diagnosis_card')).DiagnosisCard }));

// An op with more outputs than this has the others in the panel of each.
const MAX_STRIPS = 2;

// Longer parts of a name are cut in the middle.
const MAX_PART_LENGTH = 40;

function shortPart(part: string): string {
  return part.length <= MAX_PART_LENGTH ? part : `${part.slice(0, 20)}…${part.slice(-16)}`;
}

// The node's name; a click on a part selects that scope.
function Path({ name }: { name: string }) {
  const parts = name.split('/');
  return (
    <span className="node-path mono ellipsis" title={name}>
      {parts.map((part, i) => {
        const path = parts.slice(0, i + 1).join('/');
        const last = i === parts.length - 1;
        return (
          <span key={path}>
            {last ? (
              <strong>{shortPart(part)}</strong>
            ) : (
              <>
                <button
                  type="button"
                  className="link muted"
                  onClick={() => {
                    touch();
                    selectNode(path);
                  }}
                >
                  {shortPart(part)}
                </button>
                <span className="muted">/</span>
              </>
            )}
          </span>
        );
      })}
    </span>
  );
}


function NodeHead({ node }: { node: NodeDetail }) {
  const { hitIndex, current } = useJobContext();
  const job = useJob((state) => state.model.info);
  const live = useJob((state) => state.connection === 'live');
  const pending = useJob((state) => state.pending);
  const session = useAuth((state) => state.session);
  const forbidden = useReasonAgainst('watch');
  // A job that is over takes no commands, nor does a model that is not run.
  const over = isOver(job) || (job !== null && isOpenedModel(job));
  const tall = useUi((state) => state.tall);
  const hits = Math.max(node.hit_count, hitIndex.get(node.name) ?? 0);
  const targets = useTargets(job?.id ?? null);
  const rank = rankFor('continue_to', job, targets);
  const reach = availability('continue_to', job, live, pending, session, targets).reason;
  return (
    <header className="node-head">
      <KindIcon kind={node.kind} category={node.category} />
      <h2 className="node-title" aria-label={node.name}>
        <Path name={node.name} />
      </h2>
      {node.op_type !== '' && <span className="tag mono">{node.op_type}</span>}
      {node.op_type !== '' && (
        <Suspense>
          <OpDocumentation type={node.op_type} />
        </Suspense>
      )}
      <span className="tag">{node.category === 'other' ? node.kind : node.category}</span>
      {(node.first_step ?? 0) > 0 && (
        <span className="tag" title={words.stepRangeHint}>
          {words.stepRange(node.first_step ?? 0, node.last_step ?? 0)}
        </span>
      )}
      <NodeMarks hits={0} watched={node.watched} current={current === node.name} />
      {hits > 0 && (
        <button
          type="button"
          className="node-hits"
          title={words.showHits}
          onClick={() => setHitFilter({ ...NO_FILTER, node: node.name })}
        >
          <HitBadge count={hits} />
        </button>
      )}
      <span className="grow" />
      {!over && (
        <Button
          label={words.watch}
          icon={Eye}
          small
          hint={words.addWatchpointOn(labelOf(node.name))}
          disabledReason={forbidden}
          onClick={() => openWatchForm(node.name)}
        />
      )}
      {node.kind === 'op' && !over && (
        <Button
          label={commandNames.continue_to}
          caption={rank === null ? '' : rankCaption(rank)}
          icon={ArrowRightToLine}
          small
          hint={words.continueHint}
          disabledReason={reach}
          onClick={() => void sendCommand('continue_to', { node: node.name })}
        />
      )}
      <Button
        label={tall ? words.restoreLayout : words.maximizePanel}
        icon={tall ? Minimize2 : Maximize2}
        iconOnly
        small
        tone="quiet"
        pressed={tall}
        onClick={() => setTall(!tall)}
      />
    </header>
  );
}

function isParameter(index: GraphIndex, name: string): boolean {
  const item = index.find(name);
  return item !== NONE && index.kind(item) === 'parameter';
}

// The tensor that the address names, or the first output, or the first input of an op that has failed:
// rather one that is computed than a parameter.
function chosen(tensors: readonly TensorSummary[], slot: string | null, failed: boolean, index: GraphIndex | null): TensorSummary | null {
  const inputs = failed ? tensors.filter(({ role }) => role === 'input') : [];
  return (
    tensors.find((tensor) => tensorKey(tensor) === slot) ??
    inputs.find(({ node }) => index !== null && !isParameter(index, node)) ??
    inputs[0] ??
    tensors.find((tensor) => tensor.role === 'output') ??
    tensors[0] ??
    null
  );
}

function NodeBody({ node }: { node: NodeDetail }) {
  const { id, route } = useJobContext();
  const stop = useStopVersion();
  const hitVersion = useJob((state) => state.model.hit_version);
  const version = `${stop}:${hitVersion}`;
  const rank = route?.rank ?? 0;
  const several = useJob(({ model }) => (model.info?.ranks.length ?? 1) > 1);
  const panel = panelOf(route?.panel);
  const isScope = node.kind === 'scope';
  const index = useScopes((state) => state.index);
  const failed = useJob((state) => hasFailedAt(state.model.info, node.name, rank));
  const tensors = useTensors(id, isScope ? null : node.name, rank, version);
  const list = tensors.data ?? [];
  const tensor = chosen(list, route?.slot ?? null, failed, index);
  if (isScope) {
    return (
      <Suspense fallback={<Notice title={loading} busy />}>
        <ScopePane node={node} />
      </Suspense>
    );
  }
  // Where the panel below shows all of it, the strip would repeat it.
  const strips = several && panel !== 'ranks' ? list.filter(({ role }) => role === 'output').slice(0, MAX_STRIPS) : [];
  return (
    <>
      {strips.length > 0 && (
        <Suspense fallback={null}>
          {strips.map((output) => (
            <RankStrip key={output.name} tensor={output} />
          ))}
        </Suspense>
      )}
      <div className={`node-body${panel === 'compare' ? ' node-body-compare' : ''}`}>
        <TensorTable failed={failed} node={node} tensors={list} selected={tensor} error={tensors.error} />
        {tensor === null ? (
          <Notice title={tensors.isPending ? words.loadingTensors : words.noTensors} busy={tensors.isPending} />
        ) : (
          <ValuesPane key={tensor.name} tensor={tensor} failed={failed && tensor.role === 'output'} />
        )}
        <Suspense fallback={null}>
          <SourcePane node={node} />
        </Suspense>
      </div>
    </>
  );
}

export function NodePanel() {
  const { id, route } = useJobContext();
  const name = route?.node ?? null;
  const node = useNode(id, name);
  const several = useJob(({ model }) => (model.info?.world_size ?? 1) > 1);
  const unknown = node.error instanceof Problem && node.error.code === 'unknown_node';
  const body = () => {
    if (node.data !== undefined) {
      return (
        <>
          <NodeHead node={node.data} />
          <Suspense fallback={null}>
            <DiagnosisCard node={node.data} rank={route?.rank ?? 0} />
          </Suspense>
          <NodeBody node={node.data} />
        </>
      );
    }
    if (node.error !== null) {
      return (
        <Notice title={unknown ? words.didNotRun(name, route?.rank ?? 0, several) : words.nodeNotLoaded(name)} tone={unknown ? 'plain' : 'error'}>
          <p>{describe(node.error)}</p>
          <Button label={tryAgain} onClick={() => void node.refetch()} />
        </Notice>
      );
    }
    return <Notice title={words.loadingNode} busy />;
  };
  return (
    <section className="node-panel" aria-label={words.node}>
      {body()}
    </section>
  );
}
