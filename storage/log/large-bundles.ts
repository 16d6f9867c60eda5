/** Bundles that are too large for an entry. A bucket beside the log stores them under the names given in the entries. */
import {
  type JetStreamClient,
  type JetStreamManager,
  StorageType,
  type StreamInfo,
} from '@nats-io/jetstream';
import { Objm, type ObjectStore } from '@nats-io/obj';
import { NO_MESSAGE, NO_STREAM, nullWith } from './jetstream-errors.js';

const BUCKET = 'FATHOM_BUNDLES';
/** A bucket is a stream: one message has a bundle's name, others its content. */
const STREAM = `OBJ_${BUCKET}`;
const NAMES = `$O.${BUCKET}.M.`;
const CONTENTS = `$O.${BUCKET}.C.`;

/** Opens the connection for a stream beside the log, which has as many copies as the log. */
export type OpenSeparate = () => Promise<{
  manager: JetStreamManager;
  client: JetStreamClient;
  copies: () => Promise<number>;
}>;

/** A bundle in the bucket, complete or in part. */
interface Content {
  id: string;
  /** null if it was not stored completely. */
  name: string | null;
}

export class LargeBundles {
  private objects: ObjectStore | null = null;

  constructor(private readonly open: OpenSeparate) {}

  async put(name: string, content: ReadableStream<Uint8Array>, timeoutMs: number): Promise<void> {
    const objects = await this.bucket();
    await objects.put({ name }, content, { timeout: timeoutMs });
  }

  /** @throws Error if the bucket does not have it */
  async get(name: string): Promise<ReadableStream<Uint8Array>> {
    const found = await (await this.bucket()).get(name);
    if (found === null) throw new Error(`the log's bundle ${name} is missing`);
    return found.data;
  }

  async has(name: string): Promise<boolean> {
    return (await this.messageOf(subjectOf(name))) !== null;
  }

  async delete(name: string): Promise<void> {
    const found = await this.messageOf(subjectOf(name));
    if (found !== null) await this.remove({ id: found.json<{ nuid: string }>().nuid, name });
  }

  /**
   * Removes a bundle, its content first: if interrupted, the next sweep finds the bundle by its name. Neither step needs
   * free space.
   */
  async remove({ id, name }: Content): Promise<void> {
    const { manager } = await this.open();
    await manager.streams.purge(STREAM, { filter: CONTENTS + id });
    if (name !== null) await manager.streams.purge(STREAM, { filter: subjectOf(name) });
  }

  async bytes(): Promise<number> {
    return (await this.info())?.state.bytes ?? 0;
  }

  /** Everything in the bucket, according to its leader. */
  async contents(): Promise<Content[]> {
    const subjects = Object.keys((await this.info(`$O.${BUCKET}.>`))?.state.subjects ?? {});
    const names = new Map<string, string>();
    for (const subject of subjects.filter((one) => one.startsWith(NAMES))) {
      const { nuid, name } =
        (await this.messageOf(subject))?.json<{ nuid: string; name: string }>() ?? {};
      if (nuid !== undefined && name !== undefined) names.set(nuid, name);
    }
    const ids = subjects.flatMap((one) =>
      one.startsWith(CONTENTS) ? one.slice(CONTENTS.length) : [],
    );
    return [...new Set([...ids, ...names.keys()])].map((id) => ({
      id,
      name: names.get(id) ?? null,
    }));
  }

  /** When JetStream stored the last part, in epoch milliseconds; null if it is gone. */
  async lastPutMs({ id, name }: Content): Promise<number | null> {
    const subjects = [CONTENTS + id, ...(name === null ? [] : [subjectOf(name)])];
    const found = await Promise.all(subjects.map((subject) => this.messageOf(subject)));
    const times = found.flatMap((message) => message?.time.getTime() ?? []);
    return times.length === 0 ? null : Math.max(...times);
  }

  private async messageOf(subject: string) {
    const { manager } = await this.open();
    const of = { last_by_subj: subject };
    return manager.streams.getMessage(STREAM, of).catch(nullWith(NO_MESSAGE, NO_STREAM));
  }

  /** null if there is no bucket yet. */
  private async info(subjects?: string): Promise<StreamInfo | null> {
    const { manager } = await this.open();
    const options = subjects === undefined ? {} : { subjects_filter: subjects };
    return manager.streams.info(STREAM, options).catch(nullWith(NO_STREAM));
  }

  /** The bucket. A missing bucket is created with as many copies as the log has. */
  private async bucket(): Promise<ObjectStore> {
    if (this.objects !== null) return this.objects;
    const { client, copies } = await this.open();
    const settings = { replicas: await copies(), storage: StorageType.File };
    this.objects = await new Objm(client).create(BUCKET, settings);
    return this.objects;
  }
}

function subjectOf(name: string): string {
  const code = Buffer.from(name).toString('base64');
  return NAMES + code.replaceAll('+', '-').replaceAll('/', '_');
}
