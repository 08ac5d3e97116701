//! The results of the tutorials, in a real browser.

use std::os::unix::fs::symlink;
use std::process::Stdio;

use tokio::process::Command;

use super::commands::Clone;
use super::markdown::Page;
use super::root;
use crate::harness::{Pipes, Run, in_time, read_file, write_file};
use crate::javascript::run;

#[tokio::test]
async fn the_application_of_the_node_tutorial_signs_users_in() {
    let path = "docs/tutorials/node-application.md";
    let page = Page::parse(path.into(), read_file(root().join(path)));
    let clone = Clone::serve().await;
    let values = "printf '%s\\n' \"$ISSUER\" \"$CLIENT_ID\" \"$CLIENT_SECRET\" > data/values\n\
                  target/debug/assent admin enrolment ada > data/link\n";
    let script = format!("{}{values}", page.script().expect("commands"));
    clone.run(&script).await.expect("the commands succeed");

    let folder = clone.path().join("expenses");
    std::fs::create_dir(&folder).expect("a folder");
    symlink(
        root().join("tests/js/node_modules"),
        folder.join("node_modules"),
    )
    .expect("a link");
    let application = page
        .blocks
        .iter()
        .find(|block| block.text.starts_with("// app.mjs\n"))
        .expect("the application");
    write_file(folder.join("app.mjs"), clone.with_ports(&application.text));
    let values = read_file(clone.path().join("data/values"));
    let mut node = Command::new("node");
    node.arg(folder.join("app.mjs"))
        .envs(
            ["ISSUER", "CLIENT_ID", "CLIENT_SECRET"]
                .into_iter()
                .zip(values.lines()),
        )
        .stdout(Stdio::piped())
        .kill_on_drop(true);
    let mut node = node.start();
    let mut lines = node.output_lines();
    let line = in_time(lines.next_line())
        .await
        .expect("readable")
        .expect("it serves");
    let address = line.strip_prefix("Expenses is at ").expect("its address");

    let link = read_file(clone.path().join("data/link"));
    run(
        "node_tutorial.mjs",
        &[("ENROL_URL", link.trim()), ("APP_URL", address)],
    )
    .await;
}
