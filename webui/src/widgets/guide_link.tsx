// A link to the page of the guide about what is shown here. It opens in a tab of its own, so that
// nothing is lost.

import { BookOpen } from 'lucide-react';
import { guide, guideHome, guidePages, guideTo, pageAddress, type GuidePage } from '../words/guide';
import './button.css';
import './guide_link.css';
import { Tooltip } from './tooltip';

export function GuideLink({ page }: { page?: GuidePage }) {
  const title = guidePages.find(([id]) => id === page)?.[1];
  const name = title === undefined ? guide : guideTo(title);
  return (
    <Tooltip text={name}>
      <a
        className="button button-quiet button-small guide-link"
        href={page === undefined ? guideHome : pageAddress(page)}
        target="_blank"
        rel="noopener"
        aria-label={name}
      >
        <BookOpen aria-hidden size={14} />
        <span>{guide}</span>
      </a>
    </Tooltip>
  );
}
