// A link to the framework's own documentation of an op.

import { BookOpen } from 'lucide-react';
import { documentationOf } from '../state/op_documentation';
import { useJob } from '../state/job_store';
import * as words from '../words/node';

export function OpDocumentation({ type }: { type: string }) {
  const framework = useJob(({ model }) => model.info?.framework ?? '');
  const address = documentationOf(framework, type);
  if (address === null) return null;
  const label = words.documentationOf(type);
  return (
    <a className="link muted" href={address} target="_blank" rel="noopener" title={label} aria-label={label}>
      <BookOpen aria-hidden size={13} />
    </a>
  );
}
