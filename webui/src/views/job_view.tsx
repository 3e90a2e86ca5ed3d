// One job: bar, controls, tree, graph, watchpoints and hits, and the node below.

import { SearchX } from 'lucide-react';
import { lazy, memo, Suspense, useDeferredValue, useEffect, useMemo, useRef, useState } from 'react';
import { flushSync } from 'react-dom';
import { throttle } from '../base/throttle';
import { checkAuth } from '../state/auth';
import { setCatalogue } from '../state/condition_text';
import { useFollowStop } from '../state/follow';
import { graphLoader } from '../state/graph_loader';
import { useGraphOfNode } from '../state/graphs';
import { Folds } from '../index/folds';
import { indexHits, indexTrail, NO_HITS } from '../state/hit_index';
import { hasEnded } from '../state/job';
import { openJob, retryConnection, useJob } from '../state/job_store';
import type { JobRoute } from '../state/route';
import { useRouter } from '../state/router';
import { useConditions } from '../state/queries';
import { openScopes, useScopes } from '../state/scopes';
import { NO_FILTER, setHitFilter, setTall, useUi } from '../state/ui';
import { Button } from '../widgets/button';
import { Notice } from '../widgets/notice';
import { Splitter } from '../widgets/splitter';
import { navigate } from '../state/router';
import { ConnectionBanner } from './connection_banner';
import { Controls } from './controls';
import { EndBanner } from './end_banner';
import { GraphPanel } from './graph_panel';
import { HitsPanel } from './hits_panel';
import { NodePanel } from './node_panel';
import { TopBar } from './top_bar';
import { TreePanel } from './tree_panel';
import { useAfterGraph } from './use_after_graph';
import { WatchPanel } from './watch_panel';
import { Welcome } from './welcome';
import { JobContext, OpenContext, type JobContextValue } from './job_context';
import './job_view.css';

const NodeMenu = lazy(async () => ({ default: (await import('./node_menu')).NodeMenu }));

const REFRESH_MS = 400;

// What is shown follows the graph, its watchpoints and its hits.
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
  // The page itself chooses what to open.
  choose: boolean;
}

function useContextValue(id: string): JobValues {
  const address = useRouter((state) => state.route);
  const job = address.view === 'job' ? address.route : null;
  const auto = useScopes((state) => state.auto);
  const fromAddress = job?.open ?? null;
  // Only where the address names no scopes, the selection opens what is around it.
  const inside = fromAddress === null ? (job?.node ?? null) : null;
  const graph = useScopes((state) => state.index);
  const open = useMemo(
    () => openScopes(fromAddress, auto, inside),
    // What is around a node, and what "all" is, depends on the graph.
    // oxlint-disable-next-line react/exhaustive-deps
    [fromAddress, auto, inside, graph],
  );
  // Opening a scope changes nothing else in the address.
  const last = useRef<JobRoute | null>(null);
  const route = job === null ? null : { ...job, open: null };
  if (JSON.stringify(route) !== JSON.stringify(last.current)) last.current = route;
  const kept = last.current;
  // Marks of hits may come a moment later than what the user does.
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

function NoJob({ title, detail }: { title: string; detail: string }) {
  return (
    <Notice icon={SearchX} title={title} tone="error">
      <p>{detail}</p>
      <Button label="All jobs" onClick={() => navigate({ view: 'jobs' })} />
    </Notice>
  );
}

// Where a panel is about to be.
const Later = () => <div className="panel" aria-busy="true" />;

function Right({ height }: { height: number }) {
  const quiet = useJob(({ model }) => model.hits.length === 0);
  return (
    <div className={`job-right${quiet ? ' job-right-quiet' : ''}`}>
      <div className="job-watch" style={quiet ? { minHeight: height } : { height }}>
        <WatchPanel />
      </div>
      <Splitter
        panel="watch"
        label="Height of watchpoints"
        side="before"
        orientation="horizontal"
      />
      <HitsPanel />
    </div>
  );
}

// The node panel has all the room while a node is selected. Escape gives it back, and so
// does what looks for another node.
function useTall(): boolean {
  const node = useRouter(({ route }) => route.view === 'job' && route.route.node !== null);
  const tall = useUi((state) => state.tall) && node;
  useEffect(() => {
    if (!tall) return undefined;
    const onKey = (event: KeyboardEvent) => {
      const typing = (event.target as HTMLElement).matches('input, select, textarea');
      const find = (event.key === '/' && !typing) || (event.key.toLowerCase() === 'f' && event.ctrlKey);
      // Before the search field takes the focus, which it cannot while it is hidden.
      if (find || (event.key === 'Escape' && !typing)) flushSync(() => setTall(false));
    };
    window.addEventListener('keydown', onKey, { capture: true });
    return () => window.removeEventListener('keydown', onKey, { capture: true });
  }, [tall]);
  return tall;
}

// All panels. What changes with the address alone must not render them again: they
// follow what they show by themselves.
const JobLayout = memo(function JobLayout() {
  const connection = useJob((state) => state.connection);
  const attempt = useJob((state) => state.attempt);
  const sizes = useUi((state) => state.sizes);
  const ended = useJob(({ model }) => hasEnded(model.info));
  const tall = useTall();
  const selected = useRouter(({ route }) => route.view === 'job' && route.route.node !== null);
  const menu = useUi((state) => state.node_menu !== null);
  const after = useAfterGraph();
  return (
    <div className="job">
      <header className="job-head">
        <TopBar />
        <Controls />
      </header>
      {connection === 'lost' && <ConnectionBanner attempt={attempt} ended={ended} onRetry={retryConnection} />}
      <EndBanner />
      <main className={`job-main${tall ? ' job-tall' : ''}`}>
        <div
          className="job-upper"
          style={{
            gridTemplateColumns: `${sizes.left}px 1px minmax(200px, 1fr) 1px ${sizes.right}px`,
          }}
        >
          {after ? <TreePanel /> : <Later />}
          <Splitter panel="left" label="Width of the node tree" side="before" orientation="vertical" />
          <GraphPanel />
          <Splitter
            panel="right"
            label="Width of watchpoints and hits"
            side="after"
            orientation="vertical"
          />
          {after ? <Right height={sizes.watch} /> : <Later />}
        </div>
        {selected ? (
          <>
            <Splitter panel="bottom" label="Height of the node panel" side="after" orientation="horizontal" />
            <div className="job-bottom" style={{ height: sizes.bottom }}>
              {after ? <NodePanel /> : <Later />}
            </div>
          </>
        ) : (
          <Welcome />
        )}
        <Suspense>{menu && <NodeMenu />}</Suspense>
      </main>
    </div>
  );
});

export function JobView({ id }: { id: string }) {
  const graph = useRouter(({ route }) => (route.view === 'job' ? route.route.graph : null));
  useEffect(() => graphLoader.show(id, graph), [id, graph]);
  // Watchpoints and steps of another job are others.
  useEffect(() => {
    setHitFilter(NO_FILTER);
    setTall(false);
  }, [id]);
  useEffect(() => openJob(id, () => void checkAuth()), [id]);
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
  if (problem !== null) return <NoJob title="This job cannot be shown" detail={problem.message} />;
  if (forgotten) return <NoJob title="This job was removed" detail="Its data is gone." />;
  return (
    <JobContext value={value}>
      <OpenContext value={open}>
        <JobLayout />
      </OpenContext>
    </JobContext>
  );
}
