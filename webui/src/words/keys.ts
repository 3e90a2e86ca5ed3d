// Keyboard shortcuts and search syntax, for the help dialog.

export interface KeyHelp {
  keys: string[];
  text: string;
}

export interface KeyGroup {
  title: string;
  keys: KeyHelp[];
}

export const KEY_GROUPS: KeyGroup[] = [
  {
    title: 'Run',
    keys: [
      { keys: ['F8', 'F5'], text: 'Continue' },
      { keys: ['F6'], text: 'Pause' },
      { keys: ['F10'], text: 'Step' },
      { keys: ['F11'], text: 'Next node' },
      { keys: ['Shift+F5'], text: 'Terminate' },
    ],
  },
  {
    title: 'Navigate',
    keys: [
      { keys: ['Ctrl+K', 'Ctrl+Shift+P'], text: 'Commands and nodes' },
      { keys: ['/', 'Ctrl+F'], text: 'Search nodes' },
      { keys: ['N', 'Shift+N'], text: 'Next or previous incident or hit' },
      { keys: ['.', ','], text: 'Next or previous node to run' },
      { keys: ['[', ']'], text: 'Go to producer, consumer' },
      { keys: ['A'], text: 'Neighbourhood of the selected node, or whole graph' },
      { keys: ['O'], text: 'Graph or overview' },
      { keys: ['?'], text: 'Keyboard shortcuts' },
    ],
  },
  {
    title: 'Graph',
    keys: [
      { keys: ['Enter'], text: 'Open or close the selected scope' },
      { keys: ['F'], text: 'Focus selection; again: zoom to it' },
      { keys: ['G'], text: 'Go to current node' },
      { keys: ['Space'], text: 'Fit graph to view' },
      { keys: ['+', '−', '0'], text: 'Zoom in, out, to 100 %' },
      { keys: ['Shift+F10'], text: 'Node menu' },
    ],
  },
  {
    title: 'Overview',
    keys: [
      { keys: ['←', '→', '↑', '↓'], text: 'Move between steps and modules' },
      { keys: ['Enter'], text: 'Go to the module and step' },
      { keys: ['Space', 'D'], text: 'Open or close a group; distribution' },
      { keys: ['+', '−', '0'], text: 'Zoom in, out, to all steps' },
      { keys: ['←', '→', 'Enter'], text: 'Ops of a step: move, select' },
    ],
  },
  {
    title: 'Tree',
    keys: [
      { keys: ['↑', '↓'], text: 'Previous or next row' },
      { keys: ['→', '←'], text: 'Open, close; go to child, parent' },
      { keys: ['a … z'], text: 'Type to find a row' },
      { keys: ['Space'], text: 'Select for the watchpoint form' },
    ],
  },
  {
    title: 'Search',
    keys: [
      { keys: ['conv wei'], text: 'Words in names or op types' },
      { keys: ['train.py:12'], text: 'Nodes of a source line' },
      { keys: ['type:mm', 'kind:parameter'], text: 'By op type, by kind' },
      { keys: ['category:gradient'], text: 'By category' },
      { keys: ['/fc[12]$/'], text: 'A regular expression' },
    ],
  },
  {
    title: 'Tensor',
    keys: [
      { keys: ['←', '→', '↑', '↓'], text: 'Move between values' },
      { keys: ['PgUp', 'PgDn', 'Home', 'End'], text: 'Scroll by page; go to start or end of row' },
      { keys: ['Ctrl+wheel'], text: 'Zoom the heat map' },
      { keys: ['Enter'], text: 'Apply the typed slice' },
    ],
  },
];
