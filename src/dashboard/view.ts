/**
 * What every view has: how it is read, its regions, which are sent again when they have changed, and
 * its JSON. A page, its stream and its JSON are three forms of one view.
 *
 * @module
 */

import type { Core } from "../run/core.ts";
import type { Engine } from "../run/engine.ts";
import type { Html } from "./html.ts";
import type { Settings } from "./options.ts";
import type { OverviewReadings } from "./overview/read.ts";
import type { Reasons } from "./list/reasons.ts";
import type { Json, ValueReader } from "./values.ts";

/** What all views of one dashboard work with. */
export interface Desk {
  /** The engine that is looked at. */
  readonly engine: Engine;
  /** Its inside. */
  readonly core: Core;
  /** The dashboard's options. */
  readonly settings: Settings;
  /** Reads stored values for showing. */
  readonly values: ValueReader;
  /** What open overviews share. */
  readonly readings: OverviewReadings;
  /** Why paused workflows are paused, as far as it was looked up. */
  readonly reasons: Reasons;
}

/** What one reader's page is made with. */
export interface Frame {
  /** The relative address of the mount path, as seen from the page. */
  readonly root: string;
  /** The token for forms; null when nothing can be changed here. */
  readonly token: string | null;
  /** The instant of the reading. */
  readonly now: Date;
}

/** The parts of a page that change while it is open, by the id of their element. */
export type Regions = Readonly<Record<string, Html>>;

/** A view of data of one kind. */
export interface View<Data = unknown> {
  /** Reads what is shown; `before` is the last reading of the same open page. Null: there is none. */
  read(how: { readonly before: Data | null; readonly fresh: boolean }): Promise<Data | null>;
  /** The parts that change. */
  regions(data: Data, frame: Frame): Regions;
  /** The page around its regions. */
  page(data: Data, regions: Regions, frame: Frame): { readonly title: string; readonly body: Html };
  /** The same for machines. */
  json(data: Data): Json;
}
