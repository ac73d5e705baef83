# Random-interleaving model of the money protocol in money-and-failure.md (one account, lossy bus, gate losses, kills).
# `python3 protocol-model.py 1000 final` runs 1,000 seeds; `python3 protocol-model.py ablate` switches single rules off to show what each is for.
# It also charges expired calls to a checkpoint, which the project does not; everything else is the protocol.
# random interleavings of one account: Redis gate, lossy/re-ordering bus, durable stream, billing (2 workers), edges, sweeper, flushes, crashes.
import random, sys, collections
RULES = dict(relnew=1, ids=1, rows=1, beat=1, gone=1, wait=1, caught=1, fence=1, merge=1, bound=1, slotincl=1, unwanted=1, pull=1)
class Sim:
    def __init__(s, seed, rules, faults=True):
        s.r = random.Random(seed); s.R = rules; s.now = 1_000_000; s.faults = faults; s.tmo = 400; s.slow = 0.05
        s.pool = []                      # (earliest, fn, droppable)
        s.redis = None; s.flush()        # gate
        s.stream = []; s.floor = 0; s.inflight = {}; s.acked = set()   # durable
        s.beats = {}                     # last beat per edge (durable)
        s.wallet = 1000; s.ver = 0; s.keys = {k: [0, 0] for k in 'ab'}; s.rec = {}; s.outbox = set(); s.wv = 0
        s.funds = 1000; s.cap = {'a': 500, 'b': 10**9}
        s.edges = {e: dict(alive=True, calls={}, tok=None, old=set(), n=0, last=0, pend={}, ended=[]) for e in 'xy'}
        s.calls = {}; s.nid = 0; s.viol = []; s.rec_job = None; s.slotmax = 8; s.lastsweep = 0; s.leak = 0
        s.stats = collections.Counter(); s.dead_tok=set()
    def flush(s): s.redis = dict(tok=None, st=None, loaded=False, wallet=None, keys={}, holds={}); s.stats_f = 1
    def send(s, fn, drop=0.06, lo=0, hi=40):
        if s.faults and s.r.random() < drop: s.stats['dropped'] += 1; return
        d = s.r.randint(lo, hi)
        if s.faults and s.r.random() < s.slow: d = s.r.choice([500, 1500, 3000, 20000, 70000])
        s.pool.append((s.now + d, fn))
    # ---------------- redis scripts
    def held(s, key=None): return sum(h['amt'] for h in s.redis['holds'].values() if key is None or h['key'] == key)
    def slots(s): return sum(1 for h in s.redis['holds'].values() if h['slot'])
    def admit(s, id, key, worst, edge, reply):
        g = s.redis; c = s.calls[id]
        if g['tok'] is None or g['st'] != 'open': s.recover(); return reply('fault', None)
        if not g['loaded']: s.load(g['tok']); return reply('fault', None)
        if s.R['gone'] and abs(s.now - c['t']) > 30000: return reply('stale', g['tok'])
        h = g['holds'].get(id)
        if h: return reply('ok' if h['state'] == 'open' else 'gone', g['tok'])
        if s.slots() >= s.slotmax or g['wallet'][0] - s.held() < worst or g['keys'].get(key, (0, 0))[0] + s.held(key) + worst > s.cap[key]:
            return reply('refused', g['tok'])
        g['holds'][id] = dict(state='open', amt=worst, key=key, slot=True, lease=s.now + 10000, due=s.now + 120000, at=s.now, ck=0, edge=edge, ask=0)
        c['adm'] = s.now; reply('ok', g['tok'])
    def end(s, id, h):
        h['slot'] = False; h['amt'] = 0
        if s.R['gone'] and s.now < h['at'] + 90000: h['state'] = 'gone'; h['due'] = h['at'] + 90000
        else: del s.redis['holds'][id]
    def release(s, id, key, outcome, actual, reply):
        g = s.redis
        if g['tok'] is None: return
        h = g['holds'].get(id)
        if not h and outcome == 'ok' and s.R['relnew'] and s.calls[id]['tok'] != g['tok']:
            g['holds'][id] = dict(state='done', amt=actual, key=key, slot=False, lease=0, due=s.now + 5000, at=s.now, ck=actual, edge='', ask=0)
        elif not h:
            if s.R['gone'] and s.now - s.calls[id]['t'] < 60000: g['holds'][id] = dict(state='gone', amt=0, key=key, slot=False, lease=0, due=s.now + 90000, at=s.now, ck=0, edge='', ask=0)
        elif h['state'] in ('open', 'expiring'):
            if outcome == 'void': s.end(id, h)
            else: h.update(state='done', amt=actual, slot=False, ck=actual, due=s.now + 5000)
        reply()
    def standing(s, snap, ids, load=False, tok=None, t0=None):
        g = s.redis
        if g['tok'] is None: return
        if load:
            if s.R['bound'] and (tok != g['tok'] or s.now - t0 > 5000): return
        if not g['loaded'] and not load and not s.R['merge']: return
        if not s.R['rows']:      # whole message judged by account version
            v = max(x[1] for x in [snap['wallet']] + list(snap['keys'].values()))
            if g['wallet'] is None or v > g['wallet'][1]:
                g['wallet'] = (snap['wallet'][0], v)
                for k, x in snap['keys'].items(): g['keys'][k] = x
            elif not s.R['ids'] and v < g['wallet'][1]: ids = []
        else:
            old = g['wallet']
            if old is None or snap['wallet'][1] > old[1]: g['wallet'] = snap['wallet']
            for k, x in snap['keys'].items():
                if k not in g['keys'] or x[1] > g['keys'][k][1]: g['keys'][k] = x
            if not s.R['ids'] and old is not None and snap['wallet'][1] < old[1]: ids = []
        if load: g['loaded'] = True
        for i in ids:
            h = g['holds'].get(i)
            if h and h['state'] != 'gone':
                if s.R['slotincl'] or not h['slot']: s.end(i, h)
                else: h['amt'] = 0; h['state'] = 'gone'; h['due'] = s.now + 120000
    def beat(s, e, n, tok, calls, reply, restoring=False):
        g = s.redis
        if g['tok'] is None: s.recover(); return
        aborted = []
        for c in calls:
            h = g['holds'].get(c['id'])
            if h:
                if h['state'] == 'open': h.update(lease=s.now + 30000, due=s.now + 120000, ck=max(h['ck'], c['ck'])); h['slot'] = (not h.get('taken')) if restoring else h['slot']; aborted.append(c['id']) if h.get('taken') else None
            elif (c['tok'] != g['tok']) if s.R['beat'] else True:
                g['holds'][c['id']] = dict(state='open', amt=c['worst'], key=c['key'], slot=True, lease=s.now + 30000, due=s.now + 120000, at=s.now, ck=c['ck'], edge=e, ask=0)
        if not restoring and aborted: s.send(lambda: s.abort(e, aborted))
        reply(n, g['tok'])
    def abort(s, e, ids):
        for i in ids:
            c = s.calls[i]
            if s.edges[e]['alive'] and c['state'] == 'run':
                s.stats['aborted'] += 1
                if c['wv']: c['state'] = 'void'; s.edges[e]['ended'].append(i); s.do_release(e, i)
                else: s.finish(c)
    def take(s):
        hs = [h for h in s.redis['holds'].values() if h['state'] in ('open', 'expiring')]
        if hs:
            h = s.r.choice(hs); h['slot'] = False; h['taken'] = True; s.stats['taken'] += 1
    def sweep(s):
        g = s.redis
        if g['tok'] is None or g['st'] != 'open': return
        ask = []
        for i, h in list(g['holds'].items()):
            if h['state'] == 'open' and h['slot'] and h['lease'] < s.now: h['slot'] = False; s.stats['lease'] += 1
            if h['due'] > s.now: continue
            if h['state'] == 'gone': del g['holds'][i]; continue
            if h['state'] == 'open': h['state'] = 'expiring'; h['slot'] = False
            if not s.R['pull'] and h['state'] == 'done': continue
            h['due'] = s.now + 5000; ask.append((i, h['key'], h['ck']))
        if ask: s.load(g['tok'], ask)
    # ---------------- admission <-> billing
    def load(s, tok, ask=()):
        last = len(s.stream); t0 = s.now
        def at_billing():
            caught = s.floor >= last
            if s.R['caught'] and not ask and not caught:      # recovery load waits for the stream
                if s.now - t0 < 4000: s.pool.append((s.now + 20, at_billing))
                return
            known = [i for i, _, _ in ask if i in s.rec]
            allh = [i for i in s.redis['holds'] if i in s.rec] if not ask else known
            snap = s.snap(); unk = [a for a in ask if a[0] not in s.rec] if caught else []
            def back():
                s.standing(snap, allh, True, tok, t0)
                for i, k, ck in unk: s.stream.append([dict(id=i, rank=1, key=k, amt=ck)]); s.stats['expired'] += 1
            s.send(back)
        s.send(at_billing)
    def snap(s): return dict(wallet=(s.wallet, s.wv), keys={k: tuple(v) for k, v in s.keys.items()})
    def recover(s):
        g = s.redis
        if g['tok'] is None: g['tok'] = 'T%d' % s.r.getrandbits(40); g['st'] = 'restoring'; s.rec_job = dict(tok=g['tok'], t=s.now, said=-10**9)
    def recovery_step(s):
        g = s.redis; j = s.rec_job
        if not j or g['tok'] != j['tok'] or g['st'] != 'restoring': return
        if not s.R['wait']: g['st'] = 'open'; return
        if s.now - j['said'] > 300:
            j['said'] = s.now
            for e in s.edges: s.send(lambda e=e, t=j['tok']: s.report(e, t))
        live = [e for e, b in s.beats.items() if s.now - b['t'] < 10000]
        if (all(s.beats[e]['tok'] == j['tok'] for e in live) and s.now - j['t'] > 100) or s.now - j['t'] > 12000:
            for e, b in s.beats.items(): s.beat(e, b['n'], b['tok'], b['calls'], lambda n, t, e=e: s.send(lambda: s.verdict(e, n, t)), True)
            g['st'] = 'open'; s.stats['recovered'] += 1
    # ---------------- edge
    def note(s, e, tok):
        E = s.edges[e]
        if tok in E['old']: return False
        if E['tok'] != tok:
            if E['tok']: E['old'].add(E['tok'])
            E['tok'] = tok
        return True
    def report(s, e, tok):
        if s.edges[e]['alive'] and s.note(e, tok): s.do_beat(e)
    def verdict(s, e, n, tok):
        E = s.edges[e]
        if E['alive']:
            for c in E['calls'].values():
                if c['state'] in ('run', 'pub') and c['inbeat'] <= n: c['tok'] = tok
    def do_beat(s, e):
        E = s.edges[e]; E['n'] += 1; E['last'] = s.now
        calls = []
        for c in E['calls'].values():
            if c['state'] in ('run', 'pub'):
                c['inbeat'] = min(c['inbeat'], E['n']); c['bt'] = c['ck']
                calls.append(dict(id=c['id'], key=c['key'], worst=c['worst'], ck=c['ck'], tok=c['tok']))
        b = dict(t=s.now, n=E['n'], tok=E['tok'], calls=calls); s.beats[e] = b
        s.send(lambda: s.beat(e, b['n'], b['tok'], calls, lambda n, t: s.send(lambda: s.verdict(e, n, t))))
        for i in list(E['ended']): s.do_release(e, i)
    def start(s, e):
        s.nid += 1; id = 'c%d' % s.nid; worst = s.r.choice([20, 60, 150])
        c = s.calls[id] = s.edges[e]['calls'][id] = dict(id=id, e=e, t=s.now, key=s.r.choice('ab'), worst=worst, actual=s.r.randint(1, worst), ck=0, bt=0, state='ask', tok=None, tries=0, inbeat=10**9, wv=s.r.random() < 0.15)
        s.ask(c)
    def ask(s, c):
        c['tries'] += 1; c['asked'] = s.now; k = c['tries']
        s.send(lambda: s.admit(c['id'], c['key'], c['worst'], c['e'], lambda a, t: s.send(lambda: s.answer(c, a, t, k))))
    def answer(s, c, a, tok, k):
        E = s.edges[c['e']]
        if not E['alive']: return
        if c['state'] != 'ask':
            if a == 'ok' and c['state'] == 'no' and s.R['unwanted']: E['ended'].append(c['id'])
            return
        if a == 'ok' and s.now - c['asked'] > 5000 and s.R['gone']: a = 'late'
        if a == 'ok':
            if s.R['fence'] and tok in E['old']: s.stats['fenced'] += 1; (s.ask(c) if c['tries'] < 3 else s.giveup(c)); return
            s.note(c['e'], tok); c['state'] = 'run'; c['tok'] = tok
            if 'stoptopup' not in s.stats: s.check(c)
        elif a == 'fault' and c['tries'] < 3: s.pool.append((s.now + 50, lambda: s.ask(c) if c['state'] == 'ask' and E['alive'] else None))
        else: s.giveup(c)
    def giveup(s, c):
        c['state'] = 'no'; c['outcome'] = 'void'
        if s.R['unwanted']: s.edges[c['e']]['ended'].append(c['id']); s.do_release(c['e'], c['id'])
    def do_release(s, e, id):
        c = s.calls[id]; E = s.edges[e]
        def ok():
            if id in E['ended']: E['ended'].remove(id)
        s.send(lambda: s.release(id, c['key'], 'void' if c['state'] in ('no', 'void') else 'ok', c['actual'], lambda: s.send(ok)))
    def finish(s, c):
        E = s.edges[c['e']]
        c['ck'] = c['actual']; c['state'] = 'pub'; E['ended'].append(c['id']); s.do_release(c['e'], c['id'])
        def store():
            if not E['alive'] : return
            s.stream.append([dict(id=c['id'], rank=2, key=c['key'], amt=c['actual'])]); s.stats['stored'] += 1
            if s.r.random() < 0.1: s.stream.append([dict(id=c['id'], rank=2, key=c['key'], amt=c['actual'])])
            s.send(lambda: c.update(state='fin') if c['state'] == 'pub' and E['alive'] else None, drop=0)
            c['stored'] = True
        s.send(store, drop=0)
    # ---------------- billing: any worker, any order within the unacknowledged window
    def bill(s):
        todo = [i for i in range(len(s.stream)) if i not in s.acked][:12]
        if not todo: return
        pick = s.r.sample(todo, min(len(todo), s.r.randint(1, 4))); ids = []
        if s.faults and s.r.random() < 0.05: return                     # killed before commit
        touched = set()
        for m in pick:
            for ev in s.stream[m]:
                r = s.rec.setdefault(ev['id'], [0, 0]); ids.append(ev['id'])
                touched.add(ev['key'])
                if ev['rank'] > r[0] or (ev['rank'] == 1 == r[0] and ev['amt'] > r[1]):
                    d = ev['amt'] - r[1]; r[0] = ev['rank']; r[1] = ev['amt']
                    s.ver += 1; s.wallet -= d; s.wv = s.ver; s.keys[ev['key']][0] += d; s.keys[ev['key']][1] = s.ver
        sn = s.snap(); sn = dict(wallet=sn['wallet'], keys={k: v for k, v in sn['keys'].items() if k in touched})
        if s.faults and s.r.random() < 0.05: s.stats['killed after commit'] += 1; return   # no standing, no ack: redelivered
        s.send(lambda: s.standing(sn, ids))
        for m in pick: s.acked.add(m)
        while s.floor in s.acked: s.floor += 1
    def debit(s, amt):
        s.ver += 1; s.wallet += amt; s.wv = s.ver; s.funds += amt; s.outbox.add(s.ver)
    def push_outbox(s):
        for v in list(s.outbox):
            sn = s.snap(); sn['keys'] = {}
            def app(v=v, sn=sn):
                if s.redis['tok'] is None: return
                s.standing(sn, []); s.outbox.discard(v); s.lastdebit = s.now
            s.send(app)
    # ---------------- checks
    def exposure(s, key=None):
        x = 0
        for c in s.calls.values():
            if key and c['key'] != key: continue
            if c['state'] in ('run',): x += c['worst']
            elif c['state'] in ('pub', 'fin'): x += c['actual']
            elif c['state'] == 'dead': x += (s.rec.get(c['id'], [0, 0])[1])
        return x
    def check(s, c):
        if s.exposure() > s.funds and not s.outbox and c.get('adm', 0) > getattr(s, 'lastdebit', 0): s.viol.append('wallet overspent'); 
        if s.exposure(c['key']) > s.cap[c['key']]: s.viol.append('cap overspent')
    def step(s):
        t_in = s.now
        s.now += s.r.choice([0, 0, 1, 3, 10, 50, 200])
        due = [p for p in s.pool if p[0] <= s.now]
        if due and s.r.random() < 0.9:
            for p in s.r.sample(due, min(len(due), s.r.randint(1, 3))):
                if p in s.pool: s.pool.remove(p); p[1]()
        for e, E in s.edges.items():
            if E['alive'] and s.now - E['last'] >= 2000: s.do_beat(e)
            if E['alive']:
                for c in list(E['calls'].values()):
                    if c['state'] == 'ask' and s.now - c['asked'] > s.tmo: s.ask(c) if c['tries'] < 2 else s.giveup(c)
                    if c['state'] == 'run' and not c['wv']: c['ck'] = min(c['actual'], c['ck'] + s.r.randint(0, 2))
        if s.now - s.lastsweep > 1000: s.lastsweep = s.now; s.sweep(); s.push_outbox()
        s.recovery_step()
        if s.r.random() < s.brate: s.bill()
        s.leaks(s.now - t_in)
        g = s.redis
        if s.r.random() < 0.01 and g['loaded'] and not any(h['state'] != 'gone' for h in g['holds'].values()): g['loaded'] = False; g['wallet'] = None; g['keys'] = {}
    def leaks(s, dt):
        for h in s.redis['holds'].values():
            if h.get('taken') and h['slot']: s.viol.append('taken slot came back')
        for i, h in s.redis['holds'].items():
            c = s.calls[i]; ended = c['state'] in ('no', 'void', 'fin')
            if ended and h['slot']: s.stats['slot leak ms'] += dt
            if h['amt'] and (c['state'] in ('no', 'void') or (i in s.rec and s.rec[i][0] == 2)): s.stats['hold leak ms'] += dt
    def run(s, n=700):
        s.brate = s.r.choice([0.5, 0.5, 0.05]); s.frate = s.r.choice([0.0015, 0.0015, 0.008]); s.slow = s.r.choice([0.05, 0.2])
        for k in range(n):
            s.step(); x = s.r.random()
            live = [e for e in s.edges if s.edges[e]['alive']]
            if x < 0.10 and live: s.start(s.r.choice(live))
            elif x < 0.17:
                rs = [c for c in s.calls.values() if c['state'] == 'run' and s.edges[c['e']]['alive']]
                if rs:
                    c = s.r.choice(rs)
                    if c['wv']: c['state'] = 'void'; s.edges[c['e']]['ended'].append(c['id']); s.do_release(c['e'], c['id'])
                    else: s.finish(c)
            elif s.faults and x < 0.17 + s.frate: s.flush()
            elif s.faults and x < 0.171 + s.frate and len(live) > 1:
                e = s.r.choice(live); s.edges[e]['alive'] = False; s.stats['edge killed'] += 1
                for c in s.edges[e]['calls'].values():
                    if c['state'] in ('run', 'pub', 'ask') and not c.get('stored'): c['state'] = 'dead'
            elif x < 0.185: s.take()
            elif x < 0.20: s.debit(s.r.choice([50, 80, -40]))
        # quiet: everything running ends, faults stop
        s.faults = False; s.brate = 0.9
        for c in s.calls.values():
            if c['state'] == 'run' and s.edges[c['e']]['alive']: c['wv'] = False; s.finish(c)
        t = s.now; s.stats['stoptopup'] = 1
        while s.now < t + 420000:
            s.step()
            for c in s.calls.values():
                if c['state'] == 'run' and s.edges[c['e']]['alive']: s.finish(c)
            if not s.pool and s.r.random() < 0.5: s.now += 300
        g = s.redis
        left = [(i, h['state']) for i, h in g['holds'].items() if h['state'] != 'gone']
        if left: s.viol.append('hold left')
        if g['loaded'] and g['st'] == 'open':
            if g['wallet'][0] != s.wallet: s.viol.append('wallet mirror wrong')
            for k, v in g['keys'].items():
                if v[0] != s.keys[k][0]: s.viol.append('key mirror wrong')
        for c in s.calls.values():
            r = s.rec.get(c['id'])
            if c.get('stored') and (not r or r[1] != c['actual']): s.viol.append('charge wrong')
            if c['state'] in ('no', 'void') and r and r[1]: s.viol.append('void charged')
            if c['state'] == 'dead' and r and r[1] > c['ck']: s.viol.append('dead overcharged')
        if s.wallet != s.funds - sum(r[1] for r in s.rec.values()): s.viol.append('ledger wrong')
        return s.viol
def batch(name, rules, seeds):
    tot2 = collections.Counter(); tot = collections.Counter(); bad = 0; ex = {}; sl = hl = nc = 0
    for sd in seeds:
        s = Sim(sd, rules); v = set(s.run()); tot2.update({k: s.stats[k] for k in ('taken','aborted')})
        if v: bad += 1
        sl += s.stats['slot leak ms']; hl += s.stats['hold leak ms']; nc += len(s.calls)
        for x in v: tot[x] += 1; ex.setdefault(x, sd)
    print(f'{name:22s} bad {bad}/{len(seeds)} slot leak ms/call {sl/nc:.0f} hold leak ms/call {hl/nc:.0f}', {k: (v, 'seed', ex[k]) for k, v in tot.items()}, dict(tot2), flush=True)
if __name__ == '__main__':
    N = int(sys.argv[1]); what = sys.argv[2:] or ['all']
    seeds = range(1, N + 1)
    if 'final' in what or 'all' in what: batch('final rules', RULES, seeds)
    if 'ablate' in what or 'all' in what:
        for k in RULES: batch('without ' + k, dict(RULES, **{k: 0}), seeds)
