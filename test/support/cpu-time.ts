/** How many milliseconds of processor time the work took. Other processes on a busy machine do not add to it. */
export function cpuMsOf(work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

/** The same for this thread only: the threads that compile and collect garbage do not add to it. */
export function threadCpuMsOf(work: () => void): number {
  const before = readThreadCpu();
  work();
  return readThreadCpu() - before;
}

function readThreadCpu(): number {
  // Linux updates the time of a running thread only at timer ticks, unless the time of its process is read.
  process.cpuUsage();
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}
