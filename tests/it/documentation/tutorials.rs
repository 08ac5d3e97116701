//! The results of the tutorials, in a real browser.

use std::fs::{Permissions, set_permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Stdio;

use tokio::process::Command;

use super::commands::Clone;
use super::markdown::Page;
use super::root;
use crate::harness::{Pipes, Run, in_time, read_file, write_file};
use crate::javascript::run;
use crate::programs::target;

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

/// A wiki with PHP in Apache, as the tutorial has it. Only the places of the installed files differ.
#[tokio::test]
async fn the_wiki_of_the_saml_tutorial_signs_users_in() {
    let path = "docs/tutorials/saml-wiki.md";
    let page = Page::parse(path.into(), read_file(root().join(path)));
    let clone = Clone::serve().await;
    // Apache gives up the rights of root, so its user must reach the files.
    set_permissions(clone.path(), Permissions::from_mode(0o711)).expect("permissions");
    let programs = clone.path().join("dokuwiki");
    install_wiki(&programs).await;
    let here = |text: &str| {
        let programs = programs.display();
        let text = text
            .replace(
                "/usr/share/dokuwiki",
                &format!("{programs}/usr/share/dokuwiki"),
            )
            .replace("/var/lib/dokuwiki", &format!("{programs}/var/lib/dokuwiki"))
            .replace(
                "/usr/lib/apache2/modules/libphp",
                &format!("{programs}/usr/lib/apache2/modules/libphp"),
            );
        clone.with_ports(&text)
    };
    // The first line of each file names its path.
    let mut files = 0;
    for block in &page.blocks {
        let name = block.text.lines().next().and_then(|line| {
            let name = line
                .trim_start_matches("<?php //")
                .trim_start_matches('#')
                .trim();
            name.starts_with("target/wiki/").then_some(name)
        });
        if let Some(name) = name {
            let file = clone.path().join(name);
            std::fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
            write_file(file, here(&block.text));
            files += 1;
        }
    }
    assert_eq!(files, 5);
    let link = "target/debug/assent admin enrolment grace > data/link\n";
    let script = here(&page.script().expect("commands"));
    clone
        .run(&format!("{script}{link}"))
        .await
        .expect("the commands succeed");

    let wiki = clone.path().join("target/wiki");
    let mut configuration = read_file(wiki.join("apache.conf"));
    // One process serves one connection at a time. The installed PHP has the second setting in its php.ini.
    configuration.push_str("KeepAlive Off\nphp_admin_value display_errors Off\n");
    write_file(wiki.join("apache.conf"), configuration);
    let main = format!(
        "<?php define('DOKU_MAIN_CONF', '{}/etc/dokuwiki/');\n?>",
        programs.display()
    );
    let prepended = main + &read_file(wiki.join("prepend.php"));
    write_file(wiki.join("prepend.php"), prepended);
    let mut apache = Command::new("/usr/sbin/apache2");
    apache
        .arg("-X")
        .arg("-f")
        .arg(wiki.join("apache.conf"))
        .env("WIKI", &wiki)
        .env("PHP_INI_SCAN_DIR", "/etc/php/8.2/cli/conf.d")
        .kill_on_drop(true);
    let mut apache = apache.start();

    let address = clone.with_ports("http://localhost:8082/");
    let link = read_file(clone.path().join("data/link"));
    let variables = [("ENROL_URL", link.trim()), ("APP_URL", &address)];
    tokio::select! {
        () = run("wiki_tutorial.mjs", &variables) => {}
        ended = apache.wait() => {
            let log = std::fs::read_to_string(wiki.join("error.log"));
            panic!("Apache ended: {ended:?}: {log:?}");
        }
    }
}

/// Copies DokuWiki and PHP, which `make test` has unpacked, and makes their absolute paths relative.
async fn install_wiki(to: &Path) {
    let script = "set -eu\n\
        cp -a \"$1\" \"$2\"\n\
        cd \"$2/usr/share/dokuwiki\"\n\
        ln -sfn ../../../../var/lib/dokuwiki/lib/plugins lib/plugins\n\
        ln -sfn ../../../../var/lib/dokuwiki/lib/tpl lib/tpl\n\
        sed -i \"s|'/usr/share/php|__DIR__ . '/../../../php|\" vendor/composer/autoload_*.php\n";
    let unpacked = target().join("dokuwiki");
    let mut shell = Command::new("sh");
    shell.args(["-c", script, "sh"]).arg(unpacked).arg(to);
    let status = in_time(shell.status()).await.expect("a shell");
    assert!(
        status.success(),
        "DokuWiki is not unpacked: run `make test`"
    );
}
