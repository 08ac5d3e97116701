//! The exports of the components of both approval channels. Their contracts have the same functions with different
//! types.

/// Exports `$channel` as the interface `$interface` of the bindings `$module`. `begin` receives a `$request`, and a
/// callback returns a list of `$news`.
#[doc(hidden)]
#[macro_export]
macro_rules! export_channel {
    ($channel:ty, $module:ident, $trait:ident, $interface:ident, $request:ident, $news:ty) => {
        #[cfg(target_family = "wasm")]
        #[allow(
            unsafe_code,
            reason = "the exports of a component are symbols with fixed names"
        )]
        const _: () = {
            use $crate::bindings::$module::exports::assent::approval::$interface as wit;

            struct Component;

            impl wit::Guest for Component {
                fn describe() -> String {
                    $crate::$module::describe::<$channel>()
                }
                fn validate(config: String) -> Result<(), Vec<String>> {
                    $crate::$module::validate::<$channel>(&config)
                }
                fn begin(
                    config: String,
                    request: wit::$request,
                ) -> Result<wit::Begun, wit::Failure> {
                    $crate::$module::call::<$channel, _>(&config, |host, config| {
                        <$channel>::begin(host, config, &request)
                    })
                }
                fn poll(config: String, handle: Vec<u8>) -> Result<wit::State, wit::Failure> {
                    $crate::$module::call::<$channel, _>(&config, |host, config| {
                        <$channel>::poll(host, config, &handle)
                    })
                }
                fn on_callback(
                    config: String,
                    callback: wit::Callback,
                ) -> Result<Vec<$news>, wit::Failure> {
                    $crate::$module::call::<$channel, _>(&config, |host, config| {
                        <$channel>::on_callback(host, config, &callback)
                    })
                }
                fn cancel(config: String, handle: Vec<u8>) -> Result<(), wit::Failure> {
                    $crate::$module::call::<$channel, _>(&config, |host, config| {
                        <$channel>::cancel(host, config, &handle)
                    })
                }
            }

            use $crate::$module::$trait as _;
    $crate::bindings::$module::export!(Component with_types_in $crate::bindings::$module);
        };
    };
}

/// Defines the functions that the exports of a channel call, for one of the two traits.
macro_rules! channel_functions {
    ($trait:ident) => {
        #[doc(hidden)]
        pub fn describe<C: $trait>() -> String {
            crate::log::report_panics();
            C::describe().to_json()
        }

        #[doc(hidden)]
        pub fn validate<C: $trait>(config: &str) -> Result<(), Vec<String>> {
            crate::log::report_panics();
            let config = crate::read_config(config).map_err(|error| vec![error])?;
            C::validate(&config)
        }

        #[doc(hidden)]
        pub fn call<C: $trait, T>(
            config: &str,
            function: impl FnOnce(&dyn Host, &C::Config) -> Result<T, Failure>,
        ) -> Result<T, Failure> {
            crate::log::report_panics();
            let config = crate::read_config(config).map_err(Failure::Rejected)?;
            function(&crate::http::ComponentHost, &config)
        }
    };
}
