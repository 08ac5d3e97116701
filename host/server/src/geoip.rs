//! Where an address is, by a database that the operator gives: a file in the MaxMind DB format, such as GeoLite2 City
//! or DB-IP City Lite. Such a database knows about places, and not for sure; it is there for a person to recognise
//! their own.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use arc_swap::ArcSwapOption;
use maxminddb::Reader;
use serde::Deserialize;

/// How long a name may be, in characters.
const LONGEST: usize = 60;

/// The database of places, if there is one.
#[derive(Debug, Default)]
pub struct GeoIp {
    file: Option<PathBuf>,
    read: ArcSwapOption<LoadedDatabase>,
}

/// A database as it was read.
struct LoadedDatabase {
    reader: Reader<Vec<u8>>,
    stamp: FileStamp,
}

impl std::fmt::Debug for LoadedDatabase {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Read")
            .field("stamp", &self.stamp)
            .finish_non_exhaustive()
    }
}

/// What a changed file is known by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileStamp {
    modified: Option<SystemTime>,
    length: u64,
}

impl FileStamp {
    fn read(file: &Path) -> std::io::Result<Self> {
        let about = std::fs::metadata(file)?;
        Ok(Self {
            modified: about.modified().ok(),
            length: about.len(),
        })
    }
}

/// A database that can't be used.
#[derive(Debug, thiserror::Error)]
pub enum GeoIpError {
    /// The file can't be read.
    #[error("geoip.database_file: {} can't be read: {reason}", file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// Why.
        reason: std::io::Error,
    },
    /// It is something else.
    #[error(
        "geoip.database_file: {} is no database of places in the MaxMind DB format (.mmdb): {reason}",
        file.display()
    )]
    NoDatabase {
        /// The file.
        file: PathBuf,
        /// Why.
        reason: maxminddb::MaxMindDbError,
    },
}

/// What a record says of a place. Databases write a name as a text, or in several languages.
#[derive(Deserialize)]
struct Record {
    #[serde(default)]
    city: Option<Name>,
    #[serde(default)]
    country: Option<Name>,
    #[serde(default)]
    country_name: Option<Name>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Name {
    Text(String),
    Names { names: BTreeMap<String, String> },
    Other(serde::de::IgnoredAny),
}

impl Name {
    fn text(&self, language: &str) -> Option<String> {
        let text = match self {
            Self::Text(text) => Some(text),
            Self::Names { names } => [language, "en"]
                .iter()
                .find_map(|language| names.get(*language))
                .or_else(|| names.values().next()),
            Self::Other(_) => None,
        };
        // Whatever the file says, the person is shown one line.
        let text: String = text?
            .chars()
            .filter(|character| !character.is_control())
            .take(LONGEST)
            .collect();
        Some(text.trim().to_owned()).filter(|text| !text.is_empty())
    }
}

impl GeoIp {
    /// Opens the database, if the settings name one.
    pub fn open(file: Option<&Path>) -> Result<Self, GeoIpError> {
        let read = file.map(read).transpose()?.map(Arc::new);
        Ok(Self {
            file: file.map(Path::to_owned),
            read: ArcSwapOption::new(read),
        })
    }

    /// Reads the file again if it was changed since. Where it can't be read, the one from before goes on.
    pub fn refresh(&self) -> Result<bool, GeoIpError> {
        let Some(file) = &self.file else {
            return Ok(false);
        };
        let stamp = FileStamp::read(file).map_err(|reason| GeoIpError::Unreadable {
            file: file.clone(),
            reason,
        })?;
        if self
            .read
            .load()
            .as_ref()
            .is_some_and(|read| read.stamp == stamp)
        {
            return Ok(false);
        }
        self.read.store(Some(Arc::new(read(file)?)));
        Ok(true)
    }

    /// The place of an address: `Linköping, Sweden`, or what is known of that, in this language if the database has it.
    pub fn place_of(&self, address: IpAddr, language: &str) -> Option<String> {
        let read = self.read.load();
        let found = read.as_ref()?.reader.lookup(address).ok()?;
        let Record {
            city,
            country,
            country_name,
        } = found.decode().ok()??;
        let name = |name: &Option<Name>| name.as_ref().and_then(|name| name.text(language));
        let parts: Vec<String> = [name(&city), name(&country_name).or_else(|| name(&country))]
            .into_iter()
            .flatten()
            .collect();
        Some(parts.join(", ")).filter(|place| !place.is_empty())
    }
}

fn read(file: &Path) -> Result<LoadedDatabase, GeoIpError> {
    let unreadable = |reason| GeoIpError::Unreadable {
        file: file.to_owned(),
        reason,
    };
    let stamp = FileStamp::read(file).map_err(unreadable)?;
    let content = std::fs::read(file).map_err(unreadable)?;
    let reader = Reader::from_source(content).map_err(|reason| GeoIpError::NoDatabase {
        file: file.to_owned(),
        reason,
    })?;
    Ok(LoadedDatabase { reader, stamp })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A value in the data section of a MaxMind DB file.
    enum Data<'a> {
        Text(&'a str),
        /// A number, written in so many bytes, and the type's number.
        Number(u8, usize, u64),
        Map(&'a [(&'a str, Data<'a>)]),
        List(&'a [Data<'a>]),
    }
    use Data::{List, Map, Number, Text};

    fn write(value: &Data<'_>, to: &mut Vec<u8>) {
        let small = |length: usize| {
            u8::try_from(length)
                .ok()
                .filter(|length| *length < 29)
                .expect("a short value")
        };
        match value {
            Text(text) => {
                to.push(2 << 5 | small(text.len()));
                to.extend(text.bytes());
            }
            Number(kind, length, number) => {
                if *kind < 8 {
                    to.push(kind << 5 | small(*length));
                } else {
                    to.extend([small(*length), kind - 7]);
                }
                to.extend(&number.to_be_bytes()[8 - length..]);
            }
            Map(members) => {
                to.push(7 << 5 | small(members.len()));
                for (key, member) in *members {
                    write(&Text(key), to);
                    write(member, to);
                }
            }
            List(members) => {
                to.extend([small(members.len()), 11 - 7]);
                members.iter().for_each(|member| write(member, to));
            }
        }
    }

    /// A database in which each address below 128.0.0.0 has this record, and no other has one.
    fn database(record: &Data<'_>) -> Vec<u8> {
        // A tree of one node: the data begins 16 bytes behind it, and the node's own number says that there is nothing.
        let mut file = vec![0, 0, 1 + 16, 0, 0, 1];
        file.extend([0; 16]);
        write(record, &mut file);
        file.extend(b"\xab\xcd\xefMaxMind.com");
        let about = Map(&[
            ("binary_format_major_version", Number(5, 2, 2)),
            ("binary_format_minor_version", Number(5, 2, 0)),
            ("build_epoch", Number(9, 8, 1_700_000_000)),
            ("database_type", Text("Test")),
            ("description", Map(&[("en", Text("Test"))])),
            ("ip_version", Number(5, 2, 4)),
            ("languages", List(&[Text("en")])),
            ("node_count", Number(6, 4, 1)),
            ("record_size", Number(5, 2, 24)),
        ]);
        write(&about, &mut file);
        file
    }

    fn place(record: &Data<'_>) -> Option<String> {
        place_in("en", record)
    }

    fn place_in(language: &str, record: &Data<'_>) -> Option<String> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("places.mmdb");
        std::fs::write(&file, database(record)).unwrap();
        let places = GeoIp::open(Some(&file)).unwrap();
        assert_eq!(places.place_of("203.0.113.9".parse().unwrap(), "en"), None);
        assert_eq!(places.place_of("2001:db8::1".parse().unwrap(), "en"), None);
        places.place_of("1.2.3.4".parse().unwrap(), language)
    }

    #[test]
    fn a_place_is_told_as_far_as_it_is_known() {
        let names = |names| Map(names);
        let [berlin, germany] = [
            [("de", Text("Berlin.")), ("en", Text("Berlin"))],
            [("de", Text("Deutschland")), ("en", Text("Germany"))],
        ];
        let (city, country) = (
            [("names", names(&berlin))],
            [("iso_code", Text("DE")), ("names", names(&germany))],
        );
        let is = |text: &str| Some(text.to_owned());
        assert_eq!(
            place(&Map(&[("city", Map(&city)), ("country", Map(&country))])),
            is("Berlin, Germany")
        );
        assert_eq!(
            place_in(
                "de",
                &Map(&[("city", Map(&city)), ("country", Map(&country))])
            ),
            is("Berlin., Deutschland")
        );
        assert_eq!(
            place_in("ar", &Map(&[("country", Map(&country))])),
            is("Germany")
        );
        assert_eq!(
            place(&Map(&[("city", Text("Berlin")), ("country", Text("DE"))])),
            is("Berlin, DE")
        );
        let flat = [
            ("city", Text("Berlin")),
            ("country", Text("DE")),
            ("country_name", Text("Germany")),
        ];
        assert_eq!(place(&Map(&flat)), is("Berlin, Germany"));
        assert_eq!(
            place(&Map(&[(
                "country",
                Map(&[("names", Map(&[("fr", Text("Suède"))]))])
            )])),
            is("Suède")
        );
        assert_eq!(
            place(&Map(&[("country", Text("a\nb\u{1b}[1m"))])),
            is("ab[1m")
        );
        for nothing in [
            Map(&[]),
            Text("Berlin"),
            Map(&[("city", Number(5, 2, 1))]),
            Map(&[("city", Text("\n"))]),
        ] {
            assert_eq!(place(&nothing), None);
        }
    }

    #[test]
    fn a_file_that_changed_is_read_again_and_a_broken_one_is_not_taken() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("places.mmdb");
        let error = GeoIp::open(Some(&file)).unwrap_err().to_string();
        assert!(
            error.starts_with("geoip.database_file: ") && error.contains("can't be read"),
            "{error}"
        );
        std::fs::write(&file, "no database").unwrap();
        let error = GeoIp::open(Some(&file)).unwrap_err().to_string();
        assert!(error.contains("MaxMind DB format"), "{error}");

        let address = "1.2.3.4".parse().unwrap();
        std::fs::write(&file, database(&Map(&[("city", Text("Berlin"))]))).unwrap();
        let places = GeoIp::open(Some(&file)).unwrap();
        assert!(!places.refresh().unwrap());
        std::fs::write(&file, database(&Map(&[("city", Text("Reykjavik"))]))).unwrap();
        assert!(places.refresh().unwrap());
        assert_eq!(places.place_of(address, "en").as_deref(), Some("Reykjavik"));
        std::fs::write(&file, "no database at all").unwrap();
        assert!(places.refresh().is_err());
        assert_eq!(places.place_of(address, "en").as_deref(), Some("Reykjavik"));
        assert_eq!(GeoIp::open(None).unwrap().place_of(address, "en"), None);
    }
}
