// A row of tabs; arrow keys move between them.
interface Props {
  tabs: string[];
  current: string;
  onChange: (tab: string) => void;
}

export function Tabs({tabs, current, onChange}: Props) {
  const onKeyDown = (event: KeyboardEvent) => {
    const step = {ArrowRight: 1, ArrowLeft: -1}[event.key];
    if (!step) return;
    const next = (tabs.indexOf(current) + step + tabs.length) % tabs.length;
    onChange(tabs[next] as string);
    ((event.currentTarget as HTMLElement).children[next] as HTMLElement).focus();
  };
  return (
    <div role="tablist" aria-label="Views" onKeyDown={onKeyDown}>
      {tabs.map((tab) => (
        <button
          key={tab}
          type="button"
          role="tab"
          aria-selected={tab === current}
          tabIndex={tab === current ? 0 : -1}
          onClick={() => onChange(tab)}
        >
          {tab}
        </button>
      ))}
    </div>
  );
}
