// The hits in execution order, grouped by step, what rules have found, or the log; at the lower right.

import { Crosshair } from 'lucide-react';
import { lazy, Suspense, useDeferredValue, useEffect, useMemo, useState } from 'react';
import { compactCount } from '../base/format';
import { throttle } from '../base/throttle';
import { loadFindings, useFindings } from '../state/findings';
import { loadIncidents, useIncidents } from '../state/incidents';
import { useJob } from '../state/job_store';
import { setAllHits, useUi } from '../state/ui';
import { Button } from '../widgets/button';
import { Notice } from '../widgets/notice';
import { Tabs } from '../widgets/tabs';
import { loading } from '../words/common';
import { findings as findingsWord } from '../words/findings';
import * as words from '../words/hits';
import * as incidentWords from '../words/incidents';
import './hits_panel.css';

const AllHits = lazy(async () => ({ default: (await import('./all_hits')).AllHits }));
const IncidentList = lazy(async () => ({ default: (await import('./incident_list')).IncidentList }));
const FindingList = lazy(async () => ({ default: (await import('./finding_list')).FindingList }));
const LogList = lazy(async () => ({ default: (await import('./log_list')).LogList }));

type Tab = 'hits' | 'findings' | 'log';

const TITLES: Record<Tab, string> = { hits: words.hits, findings: findingsWord, log: words.log };

const LOAD_MS = 500;

// Loads the incidents of the job whenever it has new hits or stops.
function useIncidentLoading(): void {
  const job = useJob((state) => state.id);
  const version = useJob(({ model }) => model.hit_version + model.stops);
  const load = useMemo(() => throttle(() => void loadIncidents(useJob.getState().id), LOAD_MS), []);
  useEffect(() => {
    if (version > 0) load();
  }, [job, version, load]);
  useEffect(() => () => load.cancel(), [load]);
}

// Hits grouped by their causes, or all of them one by one.
function Modes({ all }: { all: boolean }) {
  return (
    <div className="hit-modes" role="group" aria-label={words.hits}>
      <Button
        label={incidentWords.incidents}
        hint={incidentWords.showIncidents}
        small
        tone="quiet"
        pressed={!all}
        onClick={() => setAllHits(false)}
      />
      <Button
        label={incidentWords.allHits}
        hint={incidentWords.showAllHits}
        small
        tone="quiet"
        pressed={all}
        onClick={() => setAllHits(true)}
      />
    </div>
  );
}

// `total` includes absorbed hits.
function Hits({ total }: { total: number }) {
  const hits = useDeferredValue(useJob((state) => state.model.hits));
  const job = useJob((state) => state.id);
  const grouped = useIncidents((state) => state.job === job && (state.incidents?.length ?? 0) > 0);
  const all = useUi((state) => state.all_hits) || !grouped;
  if (Math.max(total, hits.length) === 0) {
    return (
      <Notice icon={Crosshair} title={words.noHits}>
        <p>{words.hitsAppear}</p>
      </Notice>
    );
  }
  return (
    <>
      {grouped && <Modes all={all} />}
      <Suspense fallback={<Notice title={loading} busy />}>
        {all ? <AllHits hits={hits} total={total} /> : <IncidentList />}
      </Suspense>
    </>
  );
}

// Loads what rules have found whenever that may have changed, and returns how much it is.
function useFindingCount(): number {
  const job = useJob((state) => state.id);
  const version = useJob(({ model }) => model.finding_version);
  useEffect(() => void loadFindings(job), [job, version]);
  return useFindings((state) => (state.job === job ? state.total : 0));
}

export function HitsPanel() {
  const [chosen, setTab] = useState<Tab>('hits');
  const found = useFindingCount();
  useIncidentLoading();
  const tab = chosen === 'findings' && found === 0 ? 'hits' : chosen;
  const absorbed = useJob(({ model }) => model.info?.absorbed_hit_count ?? 0);
  const all = useJob(({ model }) => Math.max((model.info?.hit_count ?? 0) + absorbed, model.hits.length));
  const total = all - absorbed;
  return (
    <section className="panel" aria-label={TITLES[tab]}>
      <header className="panel-head panel-head-tabs">
        <Tabs
          tabs={[
            { id: 'hits', label: words.hits, ...(total > 0 ? { count: compactCount(total) } : {}) },
            ...(found > 0 ? [{ id: 'findings' as const, label: findingsWord, count: compactCount(found) }] : []),
            { id: 'log', label: words.log },
          ]}
          selected={tab}
          label={words.hitsAndLog}
          panel="hits-and-log"
          onSelect={setTab}
        />
        <span className="visually-hidden" aria-live="polite">
          {total > 0 ? words.hitCount(total) : ''}
        </span>
      </header>
      <div className="panel-body hits-body" id="hits-and-log" role="tabpanel" aria-label={tab}>
        {tab === 'hits' ? (
          <Hits total={all} />
        ) : (
          <Suspense fallback={<Notice title={loading} busy />}>
            {tab === 'findings' ? <FindingList /> : <LogList />}
          </Suspense>
        )}
      </div>
    </section>
  );
}
