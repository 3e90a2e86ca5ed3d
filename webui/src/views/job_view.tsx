// View of one job: top bar and controls, then tree, graph, watchpoints and hits, and the
// selected node below them.

import { SearchX } from 'lucide-react';
import { lazy, memo, Suspense, useDeferredValue, useEffect, useMemo, useRef, useState } from 'react';
import { isRun } from '../base/run_id';
import { throttle } from '../base/throttle';
import { Folds } from '../index/folds';
import { NONE } from '../index/graph_index';
import { isFold } from '../index/model_folds';
import { checkAuth } from '../state/auth';
import { openChecks } from '../state/checks';
import { setCatalogue } from '../state/condition_text';
import { describe } from '../state/describe';
import { useFollowStop } from '../state/follow';
import { graphLoader } from '../state/graph_loader';
import { useGraphOfNode } from '../state/graphs';
import { indexHits, indexTrail, NO_HITS } from '../state/hit_index';
import { hasEnded } from '../state/job';
import { openJob, retryConnection, useJob } from '../state/job_store';
import { useConditions } from '../state/queries';
import type { JobRoute } from '../state/route';
import { openRun, showRank, showStep } from '../state/run_store';
import { useRouter, useSelectedRank } from '../state/router';
import { navigate } from '../state/router';
import { openScopes, useScopes } from '../state/scopes';
import { NO_FILTER, setHitFilter, setTall, useUi } from '../state/ui';
import { Button } from '../widgets/button';
import { Notice } from '../widgets/notice';
import { Splitter } from '../widgets/splitter';
import { loading } from '../words/common';
import * as words from '../words/job';
import { CentrePanel } from './centre_panel';
import { ConnectionBanner } from './connection_banner';
import { Controls } from './controls';
import { EndBanner } from './end_banner';
import { HitsPanel } from './hits_panel';
import { NodePanel } from './node_panel';
import { StorageBanner } from './storage_banner';
import { TopBar } from './top_bar';
import { TreePanel } from './tree_panel';
import { useGraphPainted } from './use_graph_painted';
import { useOpened } from './use_opened';
import { WatchPanel } from './watch_panel';
import { Welcome } from './welcome';
import { JobContext, OpenContext, type JobContextValue } from './job_context';
import './job_view.css';

// Only recorded runs have these.
const RunBar = lazy(async () => ({ default: (await import('./run_bar')).RunBar }));
const UserChanges = lazy(async () => ({ default: (await import('./user_changes')).UserChanges }));
const LastOps = lazy(async () => ({ default: (await import('./last_ops')).LastOps }));
const RunChecks = lazy(async () => ({ default: (await import('./run_checks')).RunChecks }));
const DivergenceGraphs = lazy(async () => ({ default: (await import('./divergence_graphs')).DivergenceGraphs }));
// Only opened models have this.
const ModelPanel = lazy(async () => ({ default: (await import('./model_panel')).ModelPanel }));
const NodeMenu = lazy(async () => ({ default: (await import('./node_menu')).NodeMenu }));

const REFRESH_MS = 400;

// Updates the shown scopes when the graph, the watchpoints or the hits change.
function useScopeRefresh(): void {
  const graph = useMemo(() => throttle(() => graphLoader.graphChanged(), REFRESH_MS), []);
  const graphVersion = useJob(({ model }) => model.graph_version);
  useEffect(() => {
    if (graphVersion > 0) graph();
  }, [graphVersion, graph]);
  useEffect(() => () => graph.cancel(), [graph]);

  const watchVersion = useJob(({ model }) => model.watch_version);
  const conditions = useConditions().data?.conditions;
  useEffect(() => {
    if (conditions !== undefined) setCatalogue(conditions);
    graphLoader.watchChanged();
  }, [watchVersion, conditions]);

  const hits = useMemo(() => throttle(() => graphLoader.hitsChanged(), REFRESH_MS), []);
  const hitVersion = useJob(({ model }) => model.hit_version);
  useEffect(() => {
    if (hitVersion > 0) hits();
  }, [hitVersion, hits]);
  useEffect(() => () => hits.cancel(), [hits]);
}

interface JobValues {
  value: JobContextValue;
  open: ReadonlySet<string>;
  // The address names no scopes, so the page chooses which ones to open.
  choose: boolean;
}

function useContextValue(id: string): JobValues {
  const address = useRouter((state) => state.route);
  const job = address.view === 'job' ? address.route : null;
  const auto = useScopes((state) => state.auto);
  const fromAddress = job?.open ?? null;
  // The selection opens the scopes around it only if the address names no open scopes.
  const inside = fromAddress === null ? (job?.node ?? null) : null;
  const graph = useScopes((state) => state.index);
  const open = useMemo(
    () => openScopes(fromAddress, auto, inside),
    // The scopes around a node, and the meaning of "all", depend on the graph.
    // oxlint-disable-next-line react/exhaustive-deps
    [fromAddress, auto, inside, graph],
  );
  // Keeps the same object while only the open scopes change.
  const last = useRef<JobRoute | null>(null);
  const route = job === null ? null : { ...job, open: null };
  if (JSON.stringify(route) !== JSON.stringify(last.current)) last.current = route;
  const kept = last.current;
  // Marks of hits may be drawn slightly later than the effects of user input.
  const hits = useDeferredValue(useJob((state) => state.model.hits));
  const [index, setIndex] = useState(NO_HITS);
  const folds = useMemo(() => (graph === null ? null : new Folds(graph)), [graph]);
  if (index.hits !== hits || index.folds !== folds) setIndex(indexHits(hits, folds, index));
  const hitIndex = index.counts;
  const trail = useMemo(() => indexTrail(hits, folds), [hits, folds]);
  const current = useJob(({ model }) => (model.info?.node ? model.info.node : null));
  const value = useMemo(
    () => ({ id, route: kept, hitIndex, trail, current }),
    [id, kept, hitIndex, trail, current],
  );
  return { value, open, choose: fromAddress === null };
}

// Shows the step and the rank of a recorded run that the address names.
function useRunAddress(id: string): void {
  const step = useRouter(({ route }) => (route.view === 'job' ? route.route.step : null));
  const rank = useSelectedRank();
  useEffect(() => {
    if (isRun(id)) showStep();
  }, [id, step]);
  useEffect(() => {
    if (!isRun(id)) return;
    openChecks(id);
    showRank();
  }, [id, rank]);
}

function NoJob({ title, detail }: { title: string; detail: string }) {
  return (
    <main className="job-none">
      <h1 className="visually-hidden">graphdbg</h1>
      <Notice icon={SearchX} title={title} tone="error">
        <p>{detail}</p>
        <Button label={words.allJobs} onClick={() => navigate({ view: 'jobs' })} />
      </Notice>
    </main>
  );
}

// Placeholder of a panel that is rendered after the first graph.
const Placeholder = () => <div className="panel" aria-busy="true" />;

function Right({ height }: { height: number }) {
  const quiet = useJob(({ model }) => model.hits.length === 0);
  const recorded = useJob(({ id }) => isRun(id ?? ''));
  const opened = useOpened();
  if (opened) {
    return (
      <Suspense fallback={<Placeholder />}>
        <ModelPanel />
      </Suspense>
    );
  }
  return (
    <div className={`job-right${quiet ? ' job-right-quiet' : ''}`}>
      <div className="job-watch" style={quiet ? { minHeight: height } : { height }}>
        {recorded ? (
          <Suspense fallback={<Notice title={loading} busy />}>
            <RunChecks />
          </Suspense>
        ) : (
          <WatchPanel />
        )}
      </div>
      <Splitter
        panel="watch"
        label={words.resizeWatchpoints}
        side="before"
        orientation="horizontal"
      />
      <HitsPanel />
    </div>
  );
}

// True while the node panel is maximized, which needs a selected node. Escape
// restores the layout; so do the shortcuts of the search (tree_panel.tsx).
function useTall(): boolean {
  const node = useRouter(({ route }) => route.view === 'job' && route.route.node !== null);
  const tall = useUi((state) => state.tall) && node;
  useEffect(() => {
    if (!tall) return undefined;
    const onKey = (event: KeyboardEvent) => {
      const typing = (event.target as HTMLElement).matches('input, select, textarea');
      if (event.key === 'Escape' && !typing) setTall(false);
    };
    window.addEventListener('keydown', onKey, { capture: true });
    return () => window.removeEventListener('keydown', onKey, { capture: true });
  }, [tall]);
  return tall;
}

// Whether a node is selected that the panel below the graph has something to show of. Of a model that
// is not run, only weights have values; folds have none.
function useHasValues(opened: boolean): boolean {
  const node = useRouter(({ route }) => (route.view === 'job' ? route.route.node : null));
  const index = useScopes((state) => state.index);
  if (node === null || isFold(index, node)) return false;
  if (!opened || index === null) return true;
  const item = index.find(node);
  return item !== NONE && VALUED.has(index.kind(item));
}

const VALUED: ReadonlySet<string> = new Set(['parameter', 'buffer', 'constant']);

// All panels. Memoized, so that a change of the address alone does not render them again:
// each panel subscribes to the state that it shows.
const JobLayout = memo(function JobLayout() {
  const connection = useJob((state) => state.connection);
  const attempt = useJob((state) => state.attempt);
  const sizes = useUi((state) => state.sizes);
  const ended = useJob(({ model }) => hasEnded(model.info));
  const tall = useTall();
  const recorded = useJob(({ id }) => isRun(id ?? ''));
  const opened = useOpened();
  const selected = useHasValues(opened);
  const beside = useRouter(({ route }) => route.view === 'job' && route.route.beside && isRun(route.route.job));
  const menu = useUi((state) => state.node_menu !== null);
  const graphPainted = useGraphPainted();
  return (
    <div className="job">
      <header className="job-head">
        <TopBar />
        {!opened && !recorded && <Controls />}
        {!opened && recorded && (
          <Suspense fallback={<div className="controls" />}>
            <RunBar />
            <LastOps />
            <UserChanges />
          </Suspense>
        )}
        {connection === 'lost' && <ConnectionBanner attempt={attempt} ended={ended} onRetry={retryConnection} />}
        <StorageBanner />
        {!recorded && <EndBanner />}
      </header>
      <main className={`job-main${tall ? ' job-tall' : ''}`}>
        <div
          className="job-upper"
          style={{
            gridTemplateColumns: `${sizes.left}px 1px minmax(200px, 1fr) 1px ${sizes.right}px`,
          }}
        >
          {graphPainted ? <TreePanel /> : <Placeholder />}
          <Splitter panel="left" label={words.resizeTree} side="before" orientation="vertical" />
          {beside ? (
            <Suspense fallback={<Placeholder />}>
              <DivergenceGraphs />
            </Suspense>
          ) : (
            <CentrePanel />
          )}
          <Splitter
            panel="right"
            label={words.resizeWatchpointsAndHits}
            side="after"
            orientation="vertical"
          />
          {graphPainted ? <Right height={sizes.watch} /> : <Placeholder />}
        </div>
        {selected ? (
          <>
            <Splitter panel="bottom" label={words.resizeNodePanel} side="after" orientation="horizontal" />
            <div className="job-bottom" style={{ height: sizes.bottom }}>
              {graphPainted ? <NodePanel /> : <Placeholder />}
            </div>
          </>
        ) : (
          <Welcome opened={opened} />
        )}
        <Suspense>{menu && <NodeMenu />}</Suspense>
      </main>
    </div>
  );
});

export function JobView({ id }: { id: string }) {
  const graph = useRouter(({ route }) => (route.view === 'job' ? route.route.graph : null));
  useEffect(() => graphLoader.show(id, graph), [id, graph]);
  // A filter names watchpoints and steps of one job only.
  useEffect(() => {
    setHitFilter(NO_FILTER);
    setTall(false);
  }, [id]);
  useEffect(() => (isRun(id) ? openRun(id) : openJob(id, () => void checkAuth())), [id]);
  useRunAddress(id);
  const { value, open, choose } = useContextValue(id);
  const views = useScopes((state) => state.views);
  const scopesJob = useScopes((state) => state.job);
  useEffect(() => {
    if (scopesJob === id) graphLoader.ensureScopes(open, choose);
  }, [id, scopesJob, open, choose, views]);
  useScopeRefresh();
  useFollowStop();
  useGraphOfNode(id);

  const name = useJob((state) => state.model.info?.name);
  useEffect(() => {
    document.title = name === undefined ? 'graphdbg' : `${name} · graphdbg`;
  }, [name]);
  const problem = useJob((state) => state.problem);
  const forgotten = useJob((state) => state.model.forgotten);
  if (problem !== null) return <NoJob title={words.jobNotShown} detail={describe(problem)} />;
  if (forgotten) return <NoJob title={words.jobRemoved} detail={words.dataDeleted} />;
  return (
    <JobContext value={value}>
      <OpenContext value={open}>
        <JobLayout />
      </OpenContext>
    </JobContext>
  );
}
