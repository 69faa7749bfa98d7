// Keeps one processor busy until the process that started it has gone, however that ended.
const parent = process.ppid
while (process.ppid === parent) for (const end = Date.now() + 500; Date.now() < end;);
