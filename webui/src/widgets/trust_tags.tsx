// Tags of a job whose data or identity cannot be relied on, with the explanation as tooltip.

import type { Job } from '../api/types';
import * as words from '../words/storage';
import { Tooltip } from './tooltip';
import './trust_tags.css';

export function TrustTags({ job }: { job: Job }) {
  return (
    <>
      {job.damaged !== undefined && (
        <Tooltip text={words.damagedHint(job.damaged)}>
          <span className="tag tag-damaged" tabIndex={0}>
            {words.damaged}
          </span>
        </Tooltip>
      )}
      {job.verified === false && (
        <Tooltip text={words.unverifiedHint}>
          <span className="tag tag-unverified" tabIndex={0}>
            {words.unverified}
          </span>
        </Tooltip>
      )}
    </>
  );
}
