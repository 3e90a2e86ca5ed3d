import { ListChevronsDownUp, ListChevronsUpDown, Maximize, Minus, Plus, Rows4, Table2 } from 'lucide-react';
import { MEASURES, type Measure } from '../overview/measures';
import { chooseMeasure } from '../state/overview_route';
import { touch } from '../state/ui';
import { Button } from '../widgets/button';
import { Tabs } from '../widgets/tabs';
import * as words from '../words/overview';

interface Props {
  measure: Measure;
  // The modules are shown.
  picture: boolean;
  // All steps are in view.
  whole: boolean;
  foldable: boolean;
  anyFolded: boolean;
  fitted: boolean;
  table: boolean;
  onZoom: (factor: number) => void;
  onWhole: () => void;
  onFold: (open: boolean) => void;
  onFit: () => void;
  onTable: () => void;
}

export const OVERVIEW_BODY = 'overview-body';
export const ZOOM = 1.6;

const VIEWS = MEASURES.map((id) => ({ id, label: words.views[id] }));

// What the overview shows, and the buttons for it.
export function OverviewHead({ measure, picture, whole, foldable, anyFolded, fitted, table, onZoom, onWhole, onFold, onFit, onTable }: Props) {
  const fold = anyFolded ? words.openGroups : words.closeGroups;
  const none = whole ? words.allShown : undefined;
  return (
    <header className="overview-head">
      <Tabs
        tabs={VIEWS}
        selected={measure}
        label={words.shown}
        panel={OVERVIEW_BODY}
        onSelect={(id) => {
          touch();
          chooseMeasure(id);
        }}
      />
      <span className="grow" />
      {picture && foldable && (
        <Button label={fold} icon={anyFolded ? ListChevronsUpDown : ListChevronsDownUp} iconOnly small tone="quiet" onClick={() => onFold(anyFolded)} />
      )}
      {picture && <Button label={words.fitRows} icon={Rows4} iconOnly small tone="quiet" pressed={fitted} onClick={onFit} />}
      {picture && <Button label={words.asTable} icon={Table2} iconOnly small tone="quiet" pressed={table} onClick={onTable} />}
      <Button label={words.zoomOut} icon={Minus} iconOnly small tone="quiet" disabledReason={none} onClick={() => onZoom(1 / ZOOM)} />
      <Button label={words.zoomIn} icon={Plus} iconOnly small tone="quiet" onClick={() => onZoom(ZOOM)} />
      <Button label={words.allSteps} icon={Maximize} iconOnly small tone="quiet" disabledReason={none} onClick={onWhole} />
    </header>
  );
}
