"""Databases like those of Nsight Systems: its own statistics scripts' queries give our figures."""
import json
import os
import sqlite3

from harness import PACED, Case, prog, script

SETTINGS = {"PROF_OPENING": "off",
            "PROF_SCHEDULE": "skip_first=20,wait=0,warmup=0,active=8,repeat=1"}
STEPS = 8
EVERYTHING = {"PROF_SCHEDULE": "always", "PROF_STEP": "time:60000"}

# As in the scripts of `nsys stats`: cuda_gpu_kern_sum, cuda_api_sum, cuda_gpu_mem_size_sum.
KERNEL_SUM = """
WITH summary AS (
    SELECT coalesce(shortname, demangledName) AS nameId, sum(end - start) AS total,
           count(*) AS num, avg(end - start) AS avg, min(end - start) AS min,
           max(end - start) AS max
    FROM CUPTI_ACTIVITY_KIND_KERNEL GROUP BY 1),
totals AS (SELECT sum(total) AS total FROM summary)
SELECT ids.value AS Name, summary.num, summary.total,
       round(summary.total * 100.0 / (SELECT total FROM totals), 1) AS "Time (%)"
FROM summary LEFT JOIN StringIds AS ids ON ids.id == summary.nameId ORDER BY 3 DESC"""
API_SUM = """
SELECT CASE substr(value, -6, 2) WHEN '_v' THEN substr(value, 1, length(value) - 6)
       ELSE value END AS name, count(*), sum(end - start), min(end - start)
FROM CUPTI_ACTIVITY_KIND_RUNTIME LEFT JOIN StringIds AS ids ON nameId == ids.id
GROUP BY 1 ORDER BY 3 DESC"""
SIZE_SUM = """
WITH memops AS (
    SELECT oper.label AS operation, mem.bytes AS size FROM CUPTI_ACTIVITY_KIND_MEMCPY AS mem
    INNER JOIN ENUM_CUDA_MEMCPY_OPER AS oper ON mem.copyKind == oper.id
    UNION ALL SELECT '[CUDA memset]', bytes FROM CUPTI_ACTIVITY_KIND_MEMSET)
SELECT operation, count(*), sum(size) FROM memops GROUP BY 1 ORDER BY 1"""
LAUNCH_OF_KERNEL = """
SELECT count(*), sum(k.start < r.start) FROM CUPTI_ACTIVITY_KIND_KERNEL AS k
JOIN CUPTI_ACTIVITY_KIND_RUNTIME AS r USING (correlationId)
JOIN StringIds AS ids ON ids.id == r.nameId WHERE ids.value LIKE '%Launch%'"""


class Sqlite(Case):
    def database(self, command, options=("--format", "sqlite"), **settings):
        run = self.profiled_on_schedule(command, options=options, **settings)
        self.assertEqual(run.status, 0, run.err)
        (path,) = run.paths("sqlite/*/*.sqlite")
        db = sqlite3.connect(path)
        self.addCleanup(db.close)
        self.assertEqual(db.execute("pragma integrity_check").fetchone(), ("ok",))
        report = json.loads(self.tool("report", "--json", run.folder).out)["processes"][0]
        return db, report, run

    def test_statistics_of_kernels_and_calls(self):
        db, report, run = self.database(script("demo.py"), **SETTINGS)
        self.assertEqual([os.path.basename(path) for path in run.paths("sqlite/*/*")],
                         ["steps-20-27.sqlite"])
        theirs = {name: (num / STEPS, total / 1e6 / STEPS)
                  for name, num, total, _ in db.execute(KERNEL_SUM)}
        ours = {k["name"]: (k["per_step"], k["gpu_ms_per_step"]) for k in report["kernels"]}
        self.assertEqual(theirs.keys(), ours.keys())
        for name, (n, ms) in ours.items():
            self.assertEqual(theirs[name][0], n)
            self.assertAlmostEqual(theirs[name][1], ms, places=3)
        self.assertAlmostEqual(sum(row[3] for row in db.execute(KERNEL_SUM)), 100, delta=1)
        kernels = report["completeness"]["captured"]
        self.assertEqual(db.execute(LAUNCH_OF_KERNEL).fetchone(), (kernels, 0))
        calls = {row[0]: row[1] for row in db.execute(API_SUM)}
        self.assertEqual(sum(n for name, n in calls.items() if "Launch" in name), kernels)
        self.assertGreaterEqual(min(row[3] for row in db.execute(API_SUM)), 0)

    def test_facts_and_threads(self):
        db, report, _ = self.database(script("demo.py"), **SETTINGS)
        gpu = db.execute("select id, smCount, computeMajor from TARGET_INFO_GPU").fetchall()
        self.assertEqual(gpu, [(0, 132, 9)])
        pids = db.execute("""select distinct globalTid >> 24 & 0xffffff
            from CUPTI_ACTIVITY_KIND_RUNTIME""").fetchall()
        self.assertEqual(pids, [(report["pid"],)])
        names = db.execute("""select distinct ids.value from CUPTI_ACTIVITY_KIND_RUNTIME as r
            join ThreadNames as t using (globalTid) join StringIds as ids on ids.id = t.nameId""")
        self.assertTrue(names.fetchall())
        steps = db.execute("""select text, end - start from NVTX_EVENTS join
            (select domainId from NVTX_EVENTS where eventType = 75 and text = 'profrun')
            using (domainId) where eventType = 59 order by start""").fetchall()
        self.assertEqual([name for name, _ in steps], [f"step {n}" for n in range(20, 28)])
        lines = db.execute("""select count(*) from CUPTI_ACTIVITY_KIND_RUNTIME as r
            join CUDA_CALLCHAINS as c on c.id = r.callchainId
            join StringIds as ids on ids.id = c.symbol where ids.value like '%demo.py:%'""")
        self.assertGreater(lines.fetchone()[0], 0)

    def test_copies_by_size(self):
        db, report, _ = self.database(script("demo.py"), **SETTINGS)
        rows = {name: (n, size) for name, n, size in db.execute(SIZE_SUM)}
        self.assertIn("Host-to-Device", rows)
        self.assertIn("Device-to-Host", rows)
        copied = sum(size for name, (_, size) in rows.items() if "memset" not in name)
        self.assertEqual(copied, sum(c["bytes_per_step"] for c in report["copies"]
                                     if "emset" not in c["kind"]) * STEPS)
        db, _, _ = self.database([prog("copies"), "6"], **EVERYTHING)
        self.assertIn("Device-to-Device", {row[0] for row in db.execute(SIZE_SUM)})

    def test_ranges_and_waits(self):
        db, _, _ = self.database([prog("nvtx"), "steps", "6"], PROF_STEP="kernel:first",
                                 PROF_OPENING="off",
                                 PROF_SCHEDULE="skip_first=1,wait=0,warmup=0,active=2,repeat=1")
        names = {row[0] for row in db.execute(
            "select coalesce(text, (select value from StringIds where id = textId)) "
            "from NVTX_EVENTS where eventType in (34, 59, 60)")}
        self.assertIn("forwärts 🚀", names)
        db, report, _ = self.database([prog("loop"), "40"], **PACED, **SETTINGS)
        waits = db.execute("""select e.label, count(*), sum(s.end - s.start)
            from CUPTI_ACTIVITY_KIND_SYNCHRONIZATION as s
            join ENUM_CUPTI_SYNC_TYPE as e on e.id = s.syncType group by 1""").fetchall()
        # on a busy machine, a copy in one of the steps may take so long that it counts as a wait
        self.assertEqual(sum(n for _, n, _ in waits),
                         sum(s["per_step"] for s in report["syncs"] if s["per_step"] >= 1) * STEPS)

    def test_without_the_library(self):
        run = self.profiled_on_schedule(script("demo.py"), **SETTINGS)
        hidden = self.folder()
        os.mkdir(hidden)
        with open(os.path.join(hidden, "libsqlite3.so.0"), "w"):
            pass
        made = self.tool("export", run.folder, "--format", "sqlite", LD_LIBRARY_PATH=hidden)
        self.assertEqual(made.status, 1)
        self.assertIn("the format sqlite needs libsqlite3.so.0, which is not installed (Debian: "
                      "libsqlite3-0)", made.err)
        self.assertEqual(run.paths("sqlite/*/*"), [])
