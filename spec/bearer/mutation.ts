// Some specs in one process, for scripts/mutation.mjs: node mutation.js floor dpop
for (const name of process.argv.slice(2)) require(`./${name}.spec`)
