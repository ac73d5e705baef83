const HELP = `npm run check:bare -- [options]
  --skip-tests        leave out "npm test"
  --user-tests        "npm test" also as the ordinary user
  --only root|user    only one of the two
  --working-tree      copy the files of the checkout instead of cloning the last commit
  --keep              do not delete the directory of the run`;

const FLAGS = {
  '--skip-tests': 'skipTests',
  '--user-tests': 'userTests',
  '--working-tree': 'workingTree',
  '--keep': 'keep',
};

/** Parses the command line. Returns an error as `problem`. */
export function readOptions(args) {
  const options = { skipTests: false, userTests: false, workingTree: false, keep: false, only: null };
  for (let at = 0; at < args.length; at += 1) {
    const name = args[at];
    if (name in FLAGS) options[FLAGS[name]] = true;
    else if (name === '--only' && ['root', 'user'].includes(args[at + 1])) options.only = args[(at += 1)];
    else return { ...options, problem: name === '--help' ? HELP : `unknown option: "${name}"\n\n${HELP}` };
  }
  return options;
}
