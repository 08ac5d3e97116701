//! The engines that run plugins.
//!
//! Every call has a fresh instance from a pool, and nothing of it remains afterwards. There are two pools, because
//! claim mappers run for microseconds and channels wait for seconds: a warm pool with few places for mappers, and a
//! cold pool with many places for channels.

use std::sync::Arc;
use std::time::Duration;

use wasmtime::{
    Config, Enabled, Engine, InstanceAllocationStrategy, OptLevel, PoolingAllocationConfig,
};

use super::spec::CallLimits;
use super::turns::Turns;

/// The interval of the engine's clock, which interrupts running code.
pub(super) const TICK: Duration = Duration::from_millis(10);
/// The longest sleep of the clock while no plugin code runs. Afterwards it notices whether its engine was dropped.
const LONGEST_SLEEP: Duration = Duration::from_secs(30);
/// The core instances, memories and tables of one component. A Rust plugin has three instances, one memory and two
/// tables. A plugin in TypeScript has 13 instances, three memories (two of them empty) and three tables.
pub(super) const CORE_INSTANCES: u32 = 16;
pub(super) const MEMORIES: u32 = 3;
pub(super) const TABLES: u32 = 4;
/// The entries of one table.
pub(super) const TABLE_ENTRIES: usize = 20_000;
/// The part of a warm memory that is cleared and kept instead of returned to the operating system, in bytes. Most calls
/// use about this much.
const KEEP_RESIDENT: usize = 512 << 10;

/// The kind of calls for which a pool is optimized.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pool {
    /// Short calls. Their memory pages stay resident for the next call.
    Warm,
    /// Many concurrent calls that mostly wait. Their memory pages are returned to the operating system.
    Cold,
}

/// Creates an engine with room for all concurrent calls that `limits` permit.
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
        .map_err(|error| format!("the plugin engine cannot start: {error:#}"))?;
    tick(&engine, turns)?;
    Ok(engine)
}

/// Returns the settings on which compiled code depends. They are the same for every engine and pool.
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
        .map_err(|error| format!("the plugin engine's clock cannot start: {error}"))
}
