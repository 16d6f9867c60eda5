/** How DuckDB is set up, whatever it is to hold. */

/** Size of a log that no disk holds. */
const NEVER = '1000TB';

export interface DatabaseOptions {
  memoryLimitMiB: number;
  threads: number;
  /** Where DuckDB may spill; without one it never writes beside the file. */
  tempDirectory?: string;
}

/** Settings of an instance, as DuckDB names them. */
export function instanceSettings(options: DatabaseOptions): Record<string, string> {
  return {
    memory_limit: `${options.memoryLimitMiB}MiB`,
    threads: String(options.threads),
    temp_directory: options.tempDirectory ?? '',
    autoinstall_known_extensions: 'false',
    autoload_known_extensions: 'false',
    // A row group is written out as soon as it is full; the default keeps five in memory.
    write_buffer_row_group_count: '1',
    wal_autocheckpoint: NEVER,
    // Rows that a transaction has added are not counted, so that DuckDB would turn a join with them
    // around and hash all of a table. Here the right side of a join is the smaller one.
    disabled_optimizers: 'build_side_probe_side',
  };
}
