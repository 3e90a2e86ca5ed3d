// Waits for the first job of a program that `graphdbg run` has started, and goes to it.

import { useEffect } from 'react';
import { visible } from '../base/visible';
import { checkAuth } from '../state/auth';
import { followJobs, loadJobs, useJobs } from '../state/jobs_store';
import { jobRoute } from '../state/route';
import { navigate } from '../state/router';
import { Button } from '../widgets/button';
import { Notice } from '../widgets/notice';
import * as words from '../words/job';
import { ConnectionBanner } from './connection_banner';

export function StartingView({ name }: { name: string }) {
  const { jobs, connection } = useJobs();
  const first = jobs?.[0]?.id;
  useEffect(() => followJobs(() => void checkAuth()), []);
  useEffect(() => {
    document.title = `${visible(name)} · graphdbg`;
  }, [name]);
  useEffect(() => {
    if (first !== undefined) navigate({ view: 'job', route: jobRoute(first) }, 'replace');
  }, [first]);
  if (connection === 'lost') return <ConnectionBanner attempt={1} ended={false} onRetry={() => void loadJobs()} />;
  return (
    <Notice title={words.starting(visible(name))} busy>
      <p>{words.startingHint}</p>
      <Button label={words.allJobs} small onClick={() => navigate({ view: 'jobs' })} />
    </Notice>
  );
}
