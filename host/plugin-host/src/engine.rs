//! The engines that plugins run in.
//!
//! Every call gets a fresh instance from a pool, and nothing of it is left afterwards. There are two pools, since claim
//! mappers run for microseconds and channels wait for seconds: a few warm places for the ones, many cold ones for the
//! others.

use std::sync::Arc;
use std::time::Duration;

use wasmtime::{
    Config, Enabled, Engine, InstanceAllocationStrategy, OptLevel, PoolingAllocationConfig,
};

use super::spec::CallLimits;
use super::turns::Turns;

/// How often running code is interrupted.
pub(super) const TICK: Duration = Duration::from_millis(10);
/// How long the clock sleeps at most while no plugin code runs: it then notices that its engine was dropped.
const LONGEST_SLEEP: Duration = Duration::from_secs(30);
/// Core instances, memories and tables that one component may have. A Rust plugin has three instances, one memory and
/// two tables; one in TypeScript 13, three (two of them empty) and three.
pub(super) const CORE_INSTANCES: u32 = 16;
pub(super) const MEMORIES: u32 = 3;
pub(super) const TABLES: u32 = 4;
/// Entries of one table.
pub(super) const TABLE_ENTRIES: usize = 20_000;
/// Bytes of a warm memory that are cleared rather than given back to the system, since most calls touch about so many.
const KEEP_RESIDENT: usize = 512 << 10;

/// What a pool is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pool {
    /// Short calls: what they touched stays in memory, so that the next one finds it.
    Warm,
    /// Calls that mostly wait, many at once: what they touched is given back.
    Cold,
}

/// An engine with room for all calls that `limits` allow at once.
pub(super) fn engine<'a>(
    pool: Pool,
    limits: impl Iterator<Item = &'a CallLimits>,
    turns: &Arc<Turns>,
) -> Result<Engine, String> {
    let (mut calls, mut memory) = (0_u32, 1 << 20);
    for limit in limits {
        calls = calls.saturating_add(limit.concurrency);
        memory = limit.memory_bytes.max(memory);
    }
    let calls = calls.max(1);
    let mut allocation = PoolingAllocationConfig::new();
    allocation
        .total_component_instances(calls)
        .total_core_instances(calls.saturating_mul(CORE_INSTANCES))
        .total_memories(calls.saturating_mul(MEMORIES))
        .total_tables(calls.saturating_mul(TABLES))
        .total_stacks(calls)
        .max_core_instances_per_component(CORE_INSTANCES)
        .max_memories_per_component(MEMORIES)
        .max_tables_per_component(TABLES)
        .max_memory_size(memory)
        .table_elements(TABLE_ENTRIES)
        .pagemap_scan(Enabled::Auto);
    match pool {
        Pool::Warm => {
            allocation
                .linear_memory_keep_resident(KEEP_RESIDENT)
                .table_keep_resident(KEEP_RESIDENT);
        }
        Pool::Cold => {
            allocation.max_unused_warm_slots(0);
        }
    }
    let mut config = config();
    config.allocation_strategy(InstanceAllocationStrategy::Pooling(allocation));
    let engine = Engine::new(&config)
        .map_err(|error| format!("the plugin engine can't start: {error:#}"))?;
    tick(&engine, turns)?;
    Ok(engine)
}

/// What compiled code depends on: the same for every engine, whatever its pool.
pub(super) fn config() -> Config {
    let mut config = Config::new();
    config
        .cranelift_opt_level(OptLevel::Speed)
        .cranelift_nan_canonicalization(true)
        .relaxed_simd_deterministic(true)
        .consume_fuel(true)
        .epoch_interruption(true);
    config
}

/// Starts the engine's clock, which also reclaims turns. It sleeps while no plugin code runs, and stops after the
/// engine was dropped.
fn tick(engine: &Engine, turns: &Arc<Turns>) -> Result<(), String> {
    let (engine, turns) = (engine.weak(), Arc::downgrade(turns));
    let ticker = std::thread::Builder::new()
        .name("plugin-epoch".to_owned())
        .spawn(move || {
            while let (Some(engine), Some(turns)) = (engine.upgrade(), turns.upgrade()) {
                engine.increment_epoch();
                drop(engine);
                turns.reclaim();
                turns.sleep_while_idle(LONGEST_SLEEP);
                drop(turns);
                std::thread::sleep(TICK);
            }
        });
    ticker
        .map(drop)
        .map_err(|error| format!("the plugin engine's clock can't start: {error}"))
}
