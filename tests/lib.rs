//! Integration tests live in `it/`; this file only gives the package a target.
