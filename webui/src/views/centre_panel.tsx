// The middle of the window: the graph, or the overview in its place.

import { LayoutGrid, Workflow } from 'lucide-react';
import { lazy, Suspense } from 'react';
import { showOverview } from '../state/overview_route';
import { useRouter } from '../state/router';
import { touch } from '../state/ui';
import { Notice } from '../widgets/notice';
import { Tabs } from '../widgets/tabs';
import { loading } from '../words/common';
import { graph, graphOrOverview, overview } from '../words/graph';
import { GraphPanel } from './graph_panel';
import './centre_panel.css';

const OverviewPanel = lazy(async () => ({ default: (await import('./overview_panel')).OverviewPanel }));

const TABS = [
  { id: 'graph', label: graph, icon: Workflow },
  { id: 'overview', label: overview, icon: LayoutGrid },
] as const;
const PANEL = 'centre-panel';

export function CentrePanel() {
  const shown = useRouter(({ route }) => (route.view === 'job' && route.route.overview !== null ? 'overview' : 'graph'));
  return (
    <div className={`centre centre-${shown}`}>
      <header className="centre-head">
        <Tabs
          tabs={TABS}
          selected={shown}
          label={graphOrOverview}
          panel={PANEL}
          onSelect={(id) => {
            touch();
            showOverview(id === 'overview');
          }}
        />
      </header>
      <div className="centre-body" id={PANEL} role="tabpanel" aria-label={shown === 'graph' ? graph : overview}>
        {/* The graph keeps its camera while it is hidden. */}
        <GraphPanel />
        {shown === 'overview' && (
          <Suspense fallback={<Notice title={loading} busy />}>
            <OverviewPanel />
          </Suspense>
        )}
      </div>
    </div>
  );
}
